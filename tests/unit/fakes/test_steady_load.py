"""A steady load is steady, also where turns of the loop take longer than the pause between two requests."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.features.faults.load import Load

pytestmark = pytest.mark.large

_RATE, _SECONDS = 200, 0.5
_TURN_SECONDS = 0.02  # four times the pause


class Counting(Load):
    """Sends nothing."""

    asked = 0

    async def ask(self, size: int) -> None:
        self.asked += 1


async def test_a_slow_loop_sends_all_that_are_due() -> None:
    load, turns = Counting(0), 0
    steady = asyncio.create_task(load.steady(rate=_RATE, seconds=_SECONDS))
    while not steady.done():
        time.sleep(_TURN_SECONDS)  # noqa: ASYNC251 - the turn that is slow
        await asyncio.sleep(0)
        turns += 1
    assert load.asked == _RATE * _SECONDS
    assert turns < load.asked / 2
