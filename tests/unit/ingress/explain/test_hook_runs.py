"""Hooks run in the command: what their files say is what is explained, also where they wait."""

from __future__ import annotations

from pathlib import Path

import pytest

from balancer.explain.hook_runs import RunHookGate
from balancer.matching.gates.making import RefusingGate
from balancer.model.gates import SourceRanges
from balancer.model.hooks import HookRule
from ingress.explain.hook_runs import hooks_in, running_gates
from ingress.following.hook_files import HooksUnusable
from zonal_hooks.testing import request_of
from zonal_hooks.verdicts import Denied, Failed

pytestmark = pytest.mark.large

WAITS = """
import asyncio
from zonal_hooks import Deny, hook

@hook(timeout="5s")
async def request(request):
    await asyncio.sleep(0)
    if request.headers.get("x-bad"):
        raise KeyError("bad")
    return Deny(418)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "waits.py").write_text(WAITS)
    return tmp_path


def test_a_hook_that_waits_is_waited_for(place: Path) -> None:
    (hook,) = hooks_in([place])
    gate = running_gates([hook])(HookRule(hook.name, hook.code.digest, hook.phases))
    assert isinstance(gate, RunHookGate)
    asked = request_of("GET http://shop.test/", {})
    assert (gate.prompt.call("request", asked), gate.prompt.problem) == (Denied(418), "")
    verdict = gate.prompt.call("request", request_of("GET http://shop.test/", {"x-bad": "1"}))
    assert isinstance(verdict, Failed)
    assert "bad" in gate.prompt.problem


def test_what_cannot_be_run_refuses_and_all_else_is_as_ever(place: Path) -> None:
    make = running_gates(hooks_in([place]))
    assert isinstance(make(HookRule("other", "digest", ())), RefusingGate)
    assert isinstance(make(HookRule("waits", "digest", (), settings="{}")), RefusingGate)
    assert not isinstance(make(SourceRanges(("10.0.0.0/8",))), RefusingGate)


def test_files_that_are_no_hooks_are_told(tmp_path: Path) -> None:
    with pytest.raises(HooksUnusable):
        hooks_in([tmp_path / "missing.py"])
