"""The loop's lag: a stall is seen while it lasts and remembered afterwards."""

from __future__ import annotations

import asyncio

import pytest

from balancer.workers import lag
from balancer.workers.lag import LoopLag

STALL_SECONDS = 0.05


@pytest.fixture(autouse=True)
def short_period(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lag, "_PERIOD_SECONDS", 0.01)


def stall(seconds: float) -> None:
    """Keep the loop from doing anything else."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while loop.time() < until:
        pass


async def test_a_stall_counts_before_it_is_over_and_is_remembered() -> None:
    measured = LoopLag()
    stall(0.01 + STALL_SECONDS)
    assert measured.worst_seconds >= STALL_SECONDS
    await asyncio.sleep(0.02)
    assert measured.worst_seconds >= STALL_SECONDS
    measured.stop()


async def test_a_new_measurement_knows_no_stall() -> None:
    measured = LoopLag()
    assert measured.worst_seconds == 0.0
    measured.stop()


async def test_only_the_last_half_minute_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lag, "_REMEMBERED", 3)
    measured = LoopLag()
    stall(0.01 + STALL_SECONDS)
    async with asyncio.timeout(5):
        while measured.worst_seconds >= STALL_SECONDS:  # noqa: ASYNC110 (time passing is what is waited for)
            await asyncio.sleep(0.01)
    measured.stop()
