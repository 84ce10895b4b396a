"""Work without an end: it goes on after an unexpected exception, and whoever waits for it is told."""

from __future__ import annotations

import asyncio
import logging

import pytest

from balancer.runtime.supervising import Failures, kept_at_work

FAILED = "UnicodeError, which is a bug in zonal"


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
    assert told == [FAILED, "UnicodeError 2 times or more, which is a bug in zonal"]
    assert [record.exc_info is not None for record in caplog.records] == [True, True]
    assert "the work failed (2 in a row)" in caplog.text
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_work_that_has_proved_that_it_goes_on_is_told_and_its_next_failure_is_the_first() -> None:
    told: list[str] = []
    proved, told_again = asyncio.Event(), asyncio.Event()

    def tell(problem: str) -> None:
        told.append(problem)
        (told_again if told.count(FAILED) == 2 else proved if not problem else asyncio.Event()).set()

    async def work() -> None:
        if told:
            await proved.wait()
        raise UnicodeError

    task = asyncio.create_task(kept_at_work(work, what="the work", told=tell, pause_seconds=0.001))
    async with asyncio.timeout(10):
        await told_again.wait()
    assert told == [FAILED, "", FAILED]
    task.cancel()


def test_a_failure_counts_until_the_task_has_worked_for_a_minute() -> None:
    failures = Failures(pause_seconds=5.0)
    for _ in range(3):
        failures.note(worked_seconds=0.0)
    assert (failures.count, failures.proof_seconds) == (3, 60.0)
    failures.forget()
    failures.note(worked_seconds=0.0)
    assert failures.count == 1


def test_a_task_that_fails_late_has_to_work_for_twice_as_long_and_at_most_ten_minutes() -> None:
    failures, needed = Failures(pause_seconds=5.0), list[float]()
    for worked_seconds in (100.0, 1.0, 200.0, 86_400.0):
        failures.note(worked_seconds)
        needed.append(failures.proof_seconds)
    assert needed == [200.0, 200.0, 400.0, 600.0]
    failures.forget()
    assert failures.proof_seconds == 60.0


def test_the_words_change_where_the_count_doubles() -> None:
    failures, words = Failures(pause_seconds=5.0), list[str]()
    for _ in range(9):
        failures.note(worked_seconds=0.0)
        words.append(failures.told(UnicodeError()).partition(",")[0])
    often = [f"UnicodeError {least} times or more" for least in (2, 2, 4, 4, 4, 4, 8, 8)]
    assert words == ["UnicodeError", *often]


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
