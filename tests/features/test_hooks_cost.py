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


async def instructions_of(served: Hooked, host: str) -> int:
    """The fewest instructions that a request to `host` on a kept connection took, of several connections."""
    counts = []
    for _ in range(_CONNECTIONS):
        async with await Connection.open(served.plane.http_port) as connection:
            await connection.get(host)
            await connection.get(host)
            counts += [await _counted(connection, host) for _ in range(_TIMES)]
    return min(counts)


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
    """In rounds until both fewest are equal: what is learnt of endpoints and clients costs some more, now and then."""
    without, asks_none, beside, asks = [], [], [], []
    async with hooked(PASSES) as served:
        for _ in range(_ROUNDS):
            served.serve({})
            without.append(await instructions_of(served, APART))
            asks_none.append(await instructions_of(served, HOST))
            served.serve({"first": PASSES})
            beside.append(await instructions_of(served, APART))
            asks.append(await instructions_of(served, HOST))
            if min(beside) == min(without):
                break
    assert min(without) > 100
    assert min(beside) == min(without)
    assert min(asks) > min(asks_none), "the count would not see a hook"
