"""A route without hooks pays nothing for them: not one instruction of Python more runs for its requests."""

from __future__ import annotations

import sys
from collections import Counter
from types import FrameType
from typing import Any

from tests.features.hooks.serving import APART, HOST, Hooked, hooked
from tests.integration.wire import Connection

PASSES = "@hook\ndef request(r): pass\n@hook\ndef response(r): pass\n"
_CONNECTIONS = 4
_TIMES = 4
_ROUNDS = 12


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
