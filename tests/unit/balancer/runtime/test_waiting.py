"""A bound by the time in which the loop turned: what came while the loop was held is in time."""

from __future__ import annotations

import asyncio
import socket

import pytest

from balancer.runtime.absences import NEVER_ABSENT, Absences
from balancer.runtime.waiting import Bounded
from tests.fakes.stalls import stall


async def test_what_takes_too_long_is_a_timeout() -> None:
    with pytest.raises(TimeoutError):
        async with Bounded(0.01, NEVER_ABSENT):
            await asyncio.get_running_loop().create_future()


async def test_what_is_in_time_is_not_disturbed_afterwards() -> None:
    async with Bounded(0.01, NEVER_ABSENT):
        await asyncio.sleep(0)
    await asyncio.sleep(0.05)  # longer than the bound


async def test_an_error_within_passes() -> None:
    with pytest.raises(ValueError, match="theirs"):
        async with Bounded(10.0, NEVER_ABSENT):
            raise ValueError("theirs")


async def test_who_is_cancelled_is_not_late() -> None:
    async def wait() -> None:
        async with Bounded(10.0, NEVER_ABSENT):
            await asyncio.get_running_loop().create_future()

    task = asyncio.get_running_loop().create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.large
async def test_what_came_while_the_loop_was_held_is_in_time() -> None:
    """No beat follows the first, so all that is longer than a beat is an absence."""
    loop, absences = asyncio.get_running_loop(), Absences()
    absences.beat(loop.time(), 0.0)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        async with Bounded(0.2, absences):
            loop.call_soon(stall, 0.4)
            theirs.send(b"here")
            assert await loop.sock_recv(ours, 10) == b"here"


@pytest.mark.large
async def test_a_wait_goes_on_after_an_absence() -> None:
    loop, absences = asyncio.get_running_loop(), Absences()
    absences.beat(loop.time(), 0.0)
    is_here = asyncio.Event()
    async with Bounded(0.2, absences):
        stall(0.4)
        loop.call_later(0.1, is_here.set)
        await is_here.wait()
