"""An endpoint that owes an answer is asked for a connection: one that cannot be made is evidence."""

from __future__ import annotations

import asyncio
import time

import msgspec
import pytest

from balancer.model.endpoints import Ejection
from balancer.picking.backend import BackendRuntime
from balancer.picking.ejections import Cause
from balancer.picking.members import Member
from balancer.picking.silence import LEAST_SECONDS, Told
from balancer.proxy.knocking import OTHERS_MOST, QUIET_MOST_SECONDS, QUIET_SECONDS, Knocks
from tests import builders
from tests.fakes.sockets import until

pytestmark = pytest.mark.large


class Doors:
    """Every connection is pending until the test says how it ends."""

    def __init__(self) -> None:
        self.coming: set[asyncio.Task[None]] = set()
        self.pending: list[tuple[Member, asyncio.Future[None]]] = []

    async def knock(self, member: Member, timeout_seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.pending.append((member, future))
        await future

    @property
    def asked(self) -> list[Member]:
        return [member for member, _ in self.pending]


class Site:
    """A backend whose connects are known to be quick; `zones` has a letter for each of its endpoints."""

    def __init__(self, zones: str = "ab", *, rules: Ejection | None = None) -> None:
        self.doors, self.told = Doors(), list[Told]()
        backend = builders.backend(of=builders.endpoints(zones))
        backend = msgspec.structs.replace(backend, ejection=rules or Ejection())
        self.runtime = BackendRuntime.fresh(backend, own_zone=builders.own_zone(None), random_below=lambda _: 0)
        self.member, self.other, *self.more = self.runtime.members.values()
        self.runtime.silence.connected(self.other, 0.0001, 0.0)
        self.knocks = Knocks(self.doors, self)

    def tell_all(self, runtime: BackendRuntime, told: Told, now: float) -> None:
        self.told.append(told)

    async def ask(self, now: float | None = None, *, waited: float = QUIET_SECONDS) -> float:
        news = self.knocks.ask(self.runtime, self.member, waited, time.perf_counter() if now is None else now)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return news

    async def hears(self, member: Member) -> None:
        """Until the member that is asked is judged, this one answers all the time."""

        def is_silent() -> bool:
            member.health.heard_at = time.perf_counter()
            return self.member.is_silent

        await until(is_silent)

    async def ends(self) -> None:
        for _, each in self.doors.pending:
            if not each.done():
                each.set_exception(ConnectionRefusedError())
        await until(lambda: not self.doors.coming)


async def test_an_endpoint_that_cannot_be_reached_while_another_answers_is_silent() -> None:
    site = Site()
    await site.ask()
    await site.hears(site.other)
    assert site.member.health.why is not None
    assert site.member.health.why.cause is Cause.SILENCE
    assert not site.other.is_silent
    assert site.doors.asked == [site.member]
    await site.ends()


async def test_if_nobody_was_heard_others_are_asked_and_those_of_other_zones_first() -> None:
    site = Site("aaabb")
    await site.ask()
    await until(lambda: len(site.doors.pending) == 5)
    assert site.doors.asked == [site.member, *site.more[1:], site.other, site.more[0]]
    assert not site.member.is_silent, "nobody is heard"
    site.doors.pending[1][1].set_result(None)
    await until(lambda: site.member.is_silent)
    await site.ends()


async def test_no_more_are_asked_at_once_than_is_allowed() -> None:
    site = Site("a" * 40)
    await site.ask()
    await until(lambda: len(site.doors.pending) > OTHERS_MOST)
    assert len(site.doors.pending) == 1 + OTHERS_MOST
    await site.ends()


async def test_where_nobody_answers_nobody_is_silent() -> None:
    site = Site()
    await site.ask()
    await until(lambda: len(site.told) == 2)
    assert site.told == [(), ()]
    assert not site.member.is_silent
    assert not site.other.is_silent
    await site.ends()


async def test_an_endpoint_that_takes_connections_is_slow_and_not_silent() -> None:
    site = Site()
    await site.ask()
    site.doors.pending[0][1].set_result(None)
    await until(lambda: not site.doors.coming)
    site.other.health.heard_at = time.perf_counter()
    assert site.runtime.silence.judge(time.perf_counter()) == ()
    assert not site.member.is_silent


async def test_an_endpoint_is_back_when_the_connection_is_made_late() -> None:
    site = Site()
    await site.ask()
    await site.hears(site.other)
    site.doors.pending[0][1].set_result(None)
    await until(lambda: not site.doors.coming)
    assert not site.member.is_silent
    assert site.member.health.is_well


async def test_many_requests_that_wait_ask_once_and_look_when_there_is_news() -> None:
    site = Site()
    for later in (0.0, 0.1, 0.2):
        assert LEAST_SECONDS < later + await site.ask(100.0 + later) < LEAST_SECONDS + 0.1
    assert await site.ask(101.0) < await site.ask(104.0), "no news comes more and more rarely"
    assert site.doors.asked == [site.member]
    await site.ends()


async def test_an_endpoint_is_asked_again_as_soon_as_it_was_quiet() -> None:
    site = Site()
    await site.ask(100.0)
    await site.ends()
    assert await site.ask(100.3) == pytest.approx(QUIET_SECONDS - 0.3)
    site.member.health.heard_at = 100.4
    assert await site.ask(100.6) == pytest.approx(QUIET_SECONDS - 0.2)
    assert len(site.doors.pending) == 1
    await site.ask(100.4 + QUIET_SECONDS)
    assert len(site.doors.pending) == 2
    await site.ends()


async def test_requests_that_wait_for_long_ask_more_and_more_rarely() -> None:
    site = Site()
    site.member.health.heard_at = 100.0
    assert await site.ask(101.0, waited=4.0) == pytest.approx(1.0)
    assert await site.ask(101.0, waited=600.0) == pytest.approx(QUIET_MOST_SECONDS - 1.0)
    assert site.doors.pending == []
    await site.ask(100.0 + QUIET_MOST_SECONDS, waited=600.0)
    assert site.doors.asked == [site.member]
    await site.ends()


async def test_where_no_failures_eject_nobody_is_asked() -> None:
    site = Site(rules=Ejection(consecutive_errors=0))
    assert await site.ask() == QUIET_SECONDS
    assert site.doors.pending == []
