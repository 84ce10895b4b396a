"""What hooks cost: a route with one a few microseconds, and a route without not one instruction of Python more."""

from __future__ import annotations

import sys
import time
from collections import Counter
from types import FrameType
from typing import Any

import pytest

from balancer.http.origin import Origin
from balancer.http1.heads import RequestHeadReader
from balancer.model.entry_points import HTTP
from balancer.model.settings import ProxySettings
from tests.bench.hot_path import SHORT_REQUEST, TENANT_HOOK, Step, hooking
from tests.features.hooks.serving import APART, HOST, Hooked, hooked
from tests.integration.wire import Connection

PASSES = "@hook\ndef request(r): pass\n@hook\ndef response(r): pass\n"
_CONNECTIONS = 4
_TIMES = 4
_ROUNDS = 12
_STEPS, _STEP_ROUNDS = 500, 30
_MOST_SECONDS = 5e-6


class Instructions:
    """Counts the instructions that run in modules of the data plane, by module."""

    def __init__(self) -> None:
        self.by_module: Counter[str] = Counter()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith("balancer.") or name.startswith("balancer.runtime."):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._step

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode":
            self.by_module[frame.f_globals["__name__"]] += 1
        return self._step


async def instructions_of(served: Hooked, host: str) -> Counter[int]:
    """How many requests to `host` took so many instructions, on kept connections."""
    counts = Counter[int]()
    for _ in range(_CONNECTIONS):
        async with await Connection.open(served.plane.http_port) as connection:
            await connection.get(host)
            await connection.get(host)
            counts.update([await _counted(connection, host) for _ in range(_TIMES)])
    return counts


def usual(counts: Counter[int]) -> int:
    """The number of instructions that most requests took: clocks and what is learnt cost some more, and some less."""
    return counts.most_common(1)[0][0]


async def _counted(connection: Connection, host: str) -> int:
    """How many instructions one request took."""
    counted = Instructions()
    before = sys.gettrace()
    sys.settrace(counted)
    try:
        response = await connection.get(host)
    finally:
        sys.settrace(before)
    assert response.status == 200
    return counted.by_module.total()


@pytest.mark.parametrize("body", ["pass", TENANT_HOOK])
def test_a_hook_in_the_worker_costs_at_most_five_microseconds(body: str, judge_times: bool) -> None:
    """CPU time of this thread, the best of many rounds, from the request at the gates to what the hook changes."""
    request = RequestHeadReader(ProxySettings()).read(SHORT_REQUEST)
    step = hooking(body, request, Origin(peer="192.0.2.1", entry_point=HTTP))
    best = min(_seconds_of(step) for _ in range(_STEP_ROUNDS))
    assert best > 0
    if judge_times:
        assert best <= _MOST_SECONDS


def _seconds_of(step: Step) -> float:
    before = time.thread_time()
    for _ in range(_STEPS):
        step()
    return (time.thread_time() - before) / _STEPS


async def test_a_route_without_hooks_runs_not_one_instruction_more() -> None:
    """In rounds, until what most requests took is equal."""
    without, asks_none, beside, asks = Counter[int](), Counter[int](), Counter[int](), Counter[int]()
    async with hooked(PASSES) as served:
        for _ in range(_ROUNDS):
            served.serve({})
            without += await instructions_of(served, APART)
            asks_none += await instructions_of(served, HOST)
            served.serve({"first": PASSES})
            beside += await instructions_of(served, APART)
            asks += await instructions_of(served, HOST)
            if usual(beside) == usual(without):
                break
    assert usual(without) > 100
    assert usual(beside) == usual(without)
    assert usual(asks) > usual(asks_none), "the count would not see a hook"
