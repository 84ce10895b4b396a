"""How a worker loads hooks and calls them, and what its log and metrics say."""

from __future__ import annotations

import asyncio
import logging
import sys
import time

import pytest

from balancer.matching.gates.hooks import HookCaller
from balancer.metrics.definitions import HOOK_ERRORS, HOOK_SECONDS
from balancer.metrics.recorder import SUM
from balancer.model.hooks import HookCode, HookPhase, HookRule
from balancer.workers.hook_callers import HookCounts, LocalCall, LocalHooks, LoopWatch
from tests.unit.balancer.metrics.test_recorder import Counted
from tests.unit.zonal_hooks.test_messages import request
from zonal_hooks.loading import NotAHook, digest_of
from zonal_hooks.verdicts import PASSED, Denied, Failed, Verdict

START = "import asyncio, time\nimport msgspec\nfrom zonal_hooks import Deny, hook\n"
PASSES = START + "@hook\ndef request(r): pass\n"
REFUSES = START + "@hook\ndef request(r): return Deny(451)\n"
FAILS = START + "@hook\ndef request(r): 1/0\n"
WAITS = START + "@hook(timeout='10s')\nasync def request(r):\n    await asyncio.sleep(0)\n    return Deny(401)\n"


def code(text: str, name: str = "x") -> HookCode:
    return HookCode(name, digest_of(text), f"{name}.py", text)


def rule(text: str, settings: str = "") -> HookRule:
    return HookRule("x", digest_of(text), (HookPhase("request", 0.02),), settings)


class Loaded:
    """The hooks of a worker, and what it has counted."""

    def __init__(self, *texts: str) -> None:
        self.counted = Counted()
        self.hooks = LocalHooks(HookCounts(self.counted.recorder))
        self.hooks.load(map(code, texts))

    def caller(self, text: str) -> HookCaller:
        found = self.hooks.caller(rule(text))
        assert found is not None
        return found

    def verdict(self, text: str) -> object:
        return self.caller(text).call("request", request())


def test_a_hook_is_called_and_counted() -> None:
    loaded = Loaded(PASSES, REFUSES, FAILS)
    try:
        assert loaded.verdict(PASSES) is PASSED
        assert loaded.verdict(REFUSES) == Denied(451)
        failed = loaded.verdict(FAILS)
    finally:
        loaded.hooks.stop()
    assert isinstance(failed, Failed)
    assert loaded.counted.of(HOOK_ERRORS) == {("x", "raised"): (1,)}
    assert sum(loaded.counted.of(HOOK_SECONDS)["x",][:SUM]) == 3


async def test_a_call_that_waits_is_counted_when_it_ends() -> None:
    loaded = Loaded(WAITS)
    answer: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
    waiting = loaded.caller(WAITS).call("request", request())
    assert isinstance(waiting, LocalCall)
    waiting.tell_to(answer.set_result)
    assert await answer == Denied(401)
    loaded.hooks.stop()
    assert sum(loaded.counted.of(HOOK_SECONDS)["x",][:SUM]) == 1


async def test_a_call_that_ends_before_its_first_step_holds_no_loop() -> None:
    loaded = Loaded(WAITS)
    waiting = loaded.caller(WAITS).call("request", request())
    assert isinstance(waiting, LocalCall)
    assert loaded.hooks.watch.holder == "", "the loop has it back"
    waiting.cancel()
    loaded.hooks.stop()


def test_a_hook_that_is_not_loaded_has_no_caller() -> None:
    loaded = Loaded()
    assert loaded.hooks.caller(rule(PASSES)) is None
    loaded.hooks.load([code(PASSES)])
    assert loaded.hooks.caller(rule(PASSES, settings="{}")) is None
    loaded.hooks.stop()


def test_a_text_that_does_not_load_changes_nothing() -> None:
    loaded = Loaded(PASSES)
    with pytest.raises(NotAHook):
        loaded.hooks.load([code("1/0")])
    assert loaded.verdict(PASSES) is PASSED
    loaded.hooks.stop()


def test_old_texts_are_forgotten_after_a_while() -> None:
    before = set(sys.modules)
    loaded = Loaded()
    for number in range(6):
        loaded.hooks.load([code(f"{PASSES}#{number}\n")])
    loaded.hooks.stop()
    assert len(set(sys.modules) - before) == 3


def test_isolated_hooks_are_not_loaded_here() -> None:
    loaded = Loaded()
    loaded.hooks.load([HookCode("x", "d", "x.py", "raise SystemExit", isolated=True)])
    assert loaded.hooks.caller(HookRule("x", "d", (), isolated=True)) is None


def test_a_step_that_holds_the_loop_is_told(caplog: pytest.LogCaptureFixture) -> None:
    watch = LoopWatch()
    with caplog.at_level(logging.WARNING):
        for seconds in (0.004, 0.0123, 0.0123):
            watch.holder = "slow"
            watch.end(seconds)
            assert (watch.seconds, watch.holder) == (seconds, "")
    assert [record.getMessage() for record in caplog.records] == [
        "hook slow held the event loop of this worker for 12.3 ms"
    ]


def test_a_step_that_does_not_end_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    watch = LoopWatch()
    watch.look()
    watch.step += 1
    watch.holder = "endless"
    with caplog.at_level(logging.WARNING):
        for _ in range(4):
            watch.look()
    assert [record.getMessage() for record in caplog.records] == [
        "hook endless holds the event loop of this worker and does not give it back"
    ]


def test_a_thread_looks_while_the_loop_is_held(caplog: pytest.LogCaptureFixture) -> None:
    """The hook sleeps until it has been named, so it must be named while it holds the loop."""
    text = START + "import logging\n@hook\ndef request(r):\n    until = time.monotonic() + 30\n"
    text += "    while not NAMED and time.monotonic() < until: time.sleep(0.01)\nNAMED = []\n"
    loaded = Loaded(text)
    module = next(each for name, each in sys.modules.items() if name.endswith(digest_of(text)))

    class Noticing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            module.NAMED.append(record.getMessage())

    log = logging.getLogger("balancer.workers.hook_callers")
    handler = Noticing()
    log.addHandler(handler)
    started = time.monotonic()
    assert loaded.verdict(text) is PASSED
    log.removeHandler(handler)
    loaded.hooks.stop()
    assert time.monotonic() - started < 30
    assert "hook x holds the event loop" in module.NAMED[0]
