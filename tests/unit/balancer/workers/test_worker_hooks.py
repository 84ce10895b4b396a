"""A worker loads what runs hooks with its first hook."""

from __future__ import annotations

import pytest

from balancer.workers.worker_hooks import WorkerHooks
from tests.unit.balancer.metrics.test_recorder import Counted
from tests.unit.balancer.workers.test_hook_callers import FAILS, REFUSES, code, rule
from tests.unit.zonal_hooks.test_messages import request
from zonal_hooks.loading import NotAHook
from zonal_hooks.verdicts import Denied


def test_without_hooks_nothing_is_called_and_nothing_has_to_end() -> None:
    hooks = WorkerHooks(Counted().recorder)
    hooks.load(())
    assert hooks.caller(rule(REFUSES)) is None
    hooks.stop()


def test_the_hooks_of_a_publication_are_those_that_are_called() -> None:
    hooks = WorkerHooks(Counted().recorder)
    try:
        hooks.load((code(REFUSES),))
        caller = hooks.caller(rule(REFUSES))
        assert caller is not None
        assert caller.call("request", request()) == Denied(451)
        assert hooks.caller(rule(FAILS)) is None, "it is not one of them"
        hooks.load(())
        assert hooks.caller(rule(REFUSES)) is None
    finally:
        hooks.stop()


def test_a_file_that_is_no_hook_changes_nothing() -> None:
    hooks = WorkerHooks(Counted().recorder)
    try:
        hooks.load((code(REFUSES),))
        with pytest.raises(NotAHook):
            hooks.load((code("def no_hook(): pass"),))
        assert hooks.caller(rule(REFUSES)) is not None
    finally:
        hooks.stop()
