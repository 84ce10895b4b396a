"""All steps are taken, the result is what the generator returns, and other work has turns meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator

import pytest

from balancer.runtime.turns import in_turns


def busy(steps: int) -> Generator[None, None, int]:
    """Steps of a tenth of a millisecond or more."""
    for _ in range(steps):
        until = time.perf_counter() + 0.0001
        while time.perf_counter() < until:
            pass
        yield
    return steps


def failing() -> Generator[None, None, None]:
    yield
    raise ValueError("in a step")


@pytest.mark.parametrize("steps", [0, 1, 7])
async def test_all_steps_are_taken(steps: int) -> None:
    assert await in_turns(busy(steps)) == steps


async def test_other_work_of_the_loop_goes_on_meanwhile() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await in_turns(busy(100))
    counting.cancel()
    assert turns >= 30  # one after two or three steps


async def test_an_error_of_a_step_is_raised() -> None:
    with pytest.raises(ValueError, match="in a step"):
        await in_turns(failing())
