"""Takes long work in short steps on an event loop that has other work, on a core that others may want.

A step is what a generator does up to its next `yield`. Does not know what a step does.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from typing import Final, TypeVar

from balancer.runtime.priority import give_way

TURN_SECONDS: Final = 0.0002
"""For so long, and one step more, events of the loop wait for such work."""

# If this process serves requests itself, most of them then find no such work before them.
_REST_SECONDS: Final = 0.001

_Result = TypeVar("_Result")


async def in_turns(steps: Generator[None, None, _Result]) -> _Result:
    """Takes all steps. Returns what the generator returns.

    Gives way after each step, and lets the event loop go on after each fifth of a millisecond.
    """
    until = time.perf_counter() + TURN_SECONDS
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: _Result = end.value
            return result
        give_way()
        if time.perf_counter() >= until:
            await rest()
            until = time.perf_counter() + TURN_SECONDS


async def rest() -> None:
    """Lets the event loop do other work: for a turn if requests are served elsewhere, else for a millisecond."""
    await asyncio.sleep(0 if give_way.is_on else _REST_SECONDS)
