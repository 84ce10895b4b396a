"""An endpoint that owes an answer is asked for a connection: one that cannot be made is evidence."""

from __future__ import annotations

import asyncio
import time

import pytest

from balancer.picking.backend import BackendRuntime
from balancer.picking.ejections import Cause
from balancer.picking.members import Member
from balancer.picking.silence import Told
from balancer.proxy.knocking import KNOCK_AGAIN_SECONDS, Knocks
from tests import builders
from tests.fakes.sockets import until

pytestmark = pytest.mark.large


class Doors:
    """Every connection is pending until the test says how it ends."""

    def __init__(self) -> None:
        self.coming: set[asyncio.Task[None]] = set()
        self.pending: list[asyncio.Future[None]] = []

    async def knock(self, member: Member, timeout_seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.pending.append(future)
        await future


class Site:
    """A backend of two endpoints, whose connects are known to be quick."""

    def __init__(self) -> None:
        self.doors, self.told = Doors(), list[Told]()
        backend = builders.backend(of=builders.endpoints("ab"))
        self.runtime = BackendRuntime.fresh(backend, own_zone=builders.own_zone(None), random_below=lambda _: 0)
        self.member, self.other = self.runtime.members.values()
        self.runtime.silence.connected(self.other, 0.0001, 0.0)
        self.knocks = Knocks(self.doors, self)

    def tell_all(self, runtime: BackendRuntime, told: Told, now: float) -> None:
        self.told.append(told)

    async def knock(self, now: float | None = None) -> None:
        self.knocks.knock(self.runtime, self.member, time.perf_counter() if now is None else now)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def ends(self) -> None:
        for each in self.doors.pending:
            if not each.done():
                each.set_exception(ConnectionRefusedError())
        await until(lambda: not self.doors.coming)


async def test_an_endpoint_that_cannot_be_reached_while_another_answers_is_silent() -> None:
    site = Site()
    await site.knock()
    site.other.health.answers += 1
    await until(lambda: site.member.is_silent)
    assert site.member.health.why is not None
    assert site.member.health.why.cause is Cause.SILENCE
    assert not site.other.is_silent
    await site.ends()


async def test_where_nobody_answers_nobody_is_silent() -> None:
    site = Site()
    await site.knock()
    await until(lambda: bool(site.told))
    assert site.told == [()]
    assert not site.member.is_silent
    await site.ends()


async def test_an_endpoint_that_takes_connections_is_slow_and_not_silent() -> None:
    site = Site()
    await site.knock()
    site.other.health.answers += 1
    site.doors.pending[0].set_result(None)
    await until(lambda: not site.doors.coming)
    assert not site.member.is_silent


async def test_an_endpoint_is_back_when_the_connection_is_made_late() -> None:
    site = Site()
    await site.knock()
    site.other.health.answers += 1
    await until(lambda: site.member.is_silent)
    site.doors.pending[0].set_result(None)
    await until(lambda: not site.doors.coming)
    assert not site.member.is_silent
    assert site.member.health.is_well


async def test_many_requests_that_wait_ask_once() -> None:
    site = Site()
    for _ in range(10):
        await site.knock(100.0)
    await site.knock(100.0 + KNOCK_AGAIN_SECONDS - 0.1)
    assert len(site.doors.pending) == 1
    await site.knock(100.0 + KNOCK_AGAIN_SECONDS)
    assert len(site.doors.pending) == 2
    await site.ends()
