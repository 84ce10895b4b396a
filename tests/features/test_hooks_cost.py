"""A route without hooks pays nothing for them: not one instruction of Python more runs for its requests."""

from __future__ import annotations

import sys
from collections import Counter
from types import FrameType
from typing import Any

from tests.features.hooks.serving import APART, HOST, Hooked, hooked
from tests.integration.wire import Connection

PASSES = "@hook\ndef request(r): pass\n@hook\ndef response(r): pass\n"
_TIMES = 25


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
    """The fewest instructions that a request to `host` on a kept connection took."""
    counts = []
    async with await Connection.open(served.plane.http_port) as connection:
        await connection.get(host)
        await connection.get(host)
        for _ in range(_TIMES):
            counted = Instructions()
            before = sys.gettrace()
            sys.settrace(counted)
            try:
                response = await connection.get(host)
            finally:
                sys.settrace(before)
            assert response.status == 200
            counts.append(counted.by_module.total())
    return min(counts)


async def test_a_route_without_hooks_runs_not_one_instruction_more() -> None:
    async with hooked(PASSES) as served:
        served.serve({})
        without = await instructions_of(served, APART)
        asks_none = await instructions_of(served, HOST)
        served.serve({"first": PASSES})
        beside = await instructions_of(served, APART)
        asks = await instructions_of(served, HOST)
    assert without > 100
    assert beside == without
    assert asks > asks_none, "the count would not see a hook"
