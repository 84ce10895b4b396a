"""Which event loop a process runs on."""

from __future__ import annotations

import asyncio
import sys

import pytest
import uvloop

from balancer.runtime.loops import NoEventLoop, loop_factory


@pytest.mark.parametrize(
    ("name", "module"), [("asyncio", "asyncio"), ("uvloop", "uvloop"), ("auto", uvloop.Loop.__module__)]
)
def test_the_loop_is_of_the_kind_that_was_asked_for(name: str, module: str) -> None:
    with asyncio.Runner(loop_factory=loop_factory(name)) as runner:
        assert type(runner.get_loop()).__module__.startswith(module)


def test_without_uvloop_auto_is_asyncio_and_uvloop_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert loop_factory("auto") is None
    with pytest.raises(NoEventLoop, match="not installed"):
        loop_factory("uvloop")
