"""The loop's lag: a stall is seen while it lasts and remembered afterwards."""

from __future__ import annotations

import asyncio

from balancer.runtime.lag import LoopLag

STALL_SECONDS = 0.05
PERIOD_SECONDS = 0.01


def stall(seconds: float) -> None:
    """Keep the loop from doing anything else."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while loop.time() < until:
        pass


async def test_a_stall_counts_before_it_is_over_and_is_remembered() -> None:
    measured = LoopLag(period_seconds=PERIOD_SECONDS)
    stall(0.01 + STALL_SECONDS)
    assert measured.worst_seconds >= STALL_SECONDS
    await asyncio.sleep(0.02)  # periods without a stall
    assert measured.worst_seconds >= STALL_SECONDS
    measured.stop()


async def test_a_new_measurement_knows_no_stall() -> None:
    measured = LoopLag()
    assert measured.worst_seconds == 0.0
    measured.stop()


async def test_only_the_remembered_samples_count() -> None:
    measured = LoopLag(period_seconds=PERIOD_SECONDS, remembered=3)
    stall(0.01 + STALL_SECONDS)
    async with asyncio.timeout(30):
        while measured.worst_seconds >= STALL_SECONDS:  # noqa: ASYNC110 (time passing is what is waited for)
            await asyncio.sleep(0.01)
    measured.stop()
