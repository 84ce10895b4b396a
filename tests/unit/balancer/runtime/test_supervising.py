"""Work without an end: it goes on after an unexpected exception, and whoever waits for it is told."""

from __future__ import annotations

import asyncio
import logging

import pytest

from balancer.runtime.supervising import kept_at_work


async def test_work_that_fails_is_told_and_begins_again(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []
    begun, goes_on = 0, asyncio.Event()

    async def work() -> None:
        nonlocal begun
        begun += 1
        if begun < 3:
            raise UnicodeError("label too long")
        goes_on.set()
        await asyncio.Event().wait()

    with caplog.at_level(logging.ERROR):
        task = asyncio.create_task(kept_at_work(work, what="the work", told=told.append, pause_seconds=0.001))
        async with asyncio.timeout(10):
            await goes_on.wait()
    assert told == ["UnicodeError, which is a bug in zonal", ""] * 2
    assert [record.exc_info is not None for record in caplog.records] == [True, True]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_work_that_ends_begins_again_and_nobody_is_told() -> None:
    told: list[str] = []
    begun, twice = 0, asyncio.Event()

    async def work() -> None:
        nonlocal begun
        begun += 1
        if begun == 2:
            twice.set()

    task = asyncio.create_task(kept_at_work(work, what="the work", told=told.append, pause_seconds=0.001))
    async with asyncio.timeout(10):
        await twice.wait()
    task.cancel()
    assert told == []
