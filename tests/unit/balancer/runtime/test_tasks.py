"""Tasks that would never end are ended, whatever they make of that."""

from __future__ import annotations

import asyncio

from balancer.runtime.tasks import end_all


async def stubborn() -> None:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise ValueError("not willing") from None


async def test_all_are_done_afterwards() -> None:
    tasks = [asyncio.create_task(stubborn()), asyncio.create_task(asyncio.sleep(1e6))]
    await asyncio.sleep(0)
    await end_all(tasks)
    assert [task.done() for task in tasks] == [True, True]
    await end_all([])
