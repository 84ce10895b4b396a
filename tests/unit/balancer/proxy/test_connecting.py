"""Connections on their way: the request may go elsewhere, and the connect is a probe that goes on alone."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from math import inf

import pytest

from balancer.errors import ErrorKind
from balancer.http.streams import EndpointStream, Pool
from balancer.metrics.definitions import EJECTIONS
from balancer.metrics.recorder import NUMBERS, Recorder
from balancer.metrics.slots import SlotTable, read
from balancer.picking.backend import BackendRuntime
from balancer.picking.ejections import Cause, Ejected
from balancer.picking.healthlog import HealthLog
from balancer.picking.members import Pick
from balancer.picking.silence import UNKNOWN_SECONDS
from balancer.proxy.connecting import Connecting
from balancer.proxy.forwarder import Forwarder
from balancer.runtime.absences import Absences
from balancer.runtime.loops import loop_factory
from tests import builders
from tests.fakes.sockets import until
from tests.fakes.stalls import stall
from tests.fakes.streams import MemoryEndpointStream, MemoryPools

pytestmark = pytest.mark.large

LONG = 60.0


class PendingPool(Pool):
    """Every connect is pending until `end`."""

    def __init__(self) -> None:
        self.awaited = set()
        self.pending: list[asyncio.Future[EndpointStream]] = []
        self.drops = 0

    def drop_idle(self) -> None:
        self.drops += 1

    async def connect(self, timeout_seconds: float) -> EndpointStream:
        future: asyncio.Future[EndpointStream] = asyncio.get_running_loop().create_future()
        self.pending.append(future)
        async with asyncio.timeout(timeout_seconds):
            return await future


class Request:
    """Waits for one connection. With `elsewhere` it leaves as soon as it is asked."""

    def __init__(self, *, elsewhere: bool = True, seconds: float = inf) -> None:
        self.elsewhere, self.seconds = elsewhere, seconds
        self.asked = 0
        self.ends: list[tuple[EndpointStream | None, ErrorKind]] = []

    def seconds_left(self) -> float:
        return self.seconds

    def connecting_ended(self, stream: EndpointStream | None, kind: ErrorKind) -> None:
        self.ends.append((stream, kind))

    def goes_elsewhere(self) -> bool:
        self.asked += 1
        return self.elsewhere


class Site:
    """A backend of two endpoints, of which the first is connected to; connects of it are known to be quick."""

    def __init__(self) -> None:
        self.pool, self._slots = PendingPool(), bytearray(64 * 1024)
        backend = builders.backend(of=builders.endpoints("ab"))
        self.runtime = BackendRuntime.fresh(backend, own_zone=builders.own_zone(None), random_below=lambda _: 0)
        self.member, self.other = self.runtime.members.values()
        self.runtime.silence.connected(self.other, 0.0001, 0.0)
        recorder = Recorder(SlotTable(self._slots))
        self.absences = Absences()
        self.pools = MemoryPools(lambda _: None)
        self.pools.error = ConnectionRefusedError()  # who is asked whether it is there refuses, which says nothing
        self._forwarder = Forwarder(pools=self.pools, recorder=recorder, health_log=HealthLog(), absences=self.absences)

    @property
    def ejections(self) -> float:
        return sum(entry.values[0] for entry in read(self._slots) if entry.key.metric == NUMBERS[EJECTIONS.name])

    def pick(self, *, probe: bool = False) -> Pick:
        pick = self.runtime.balancer().pick()
        assert pick is not None
        assert pick.member is self.member
        return pick.as_probe() if probe else pick

    def connect(self, request: Request, pick: Pick, *, timeout_seconds: float = LONG) -> None:
        Connecting(request, pick, self.pool, self.runtime, self._forwarder).begin(timeout_seconds)


@pytest.fixture
def site() -> Site:
    return Site()


async def test_a_request_leaves_and_the_connection_that_comes_late_is_kept(site: Site) -> None:
    request = Request()
    site.connect(request, site.pick())
    await until(lambda: request.asked > 0)
    stream = MemoryEndpointStream(lambda _: None, reused=False)
    site.pool.pending[0].set_result(stream)
    await until(lambda: stream.releases == 1)
    assert (request.asked, request.ends) == (1, [])
    assert not site.pool.awaited


async def test_a_loop_that_stood_still_gives_the_connection_its_time(site: Site) -> None:
    """No beat follows the first, so all that is longer than a beat is an absence."""
    site.absences.beat(time.perf_counter(), 0.0)
    request, turned = Request(), asyncio.Event()
    site.connect(request, site.pick())
    await until(lambda: bool(site.pool.pending))
    stall(2.0 * UNKNOWN_SECONDS)
    asyncio.get_running_loop().call_later(0.1, turned.set)
    await turned.wait()
    assert request.asked == 0
    stream = MemoryEndpointStream(lambda _: None, reused=False)
    site.pool.pending[0].set_result(stream)
    await until(lambda: bool(request.ends))
    assert request.ends[0][0] is stream


async def test_a_request_that_has_nowhere_to_go_waits_on_and_is_asked_again(site: Site) -> None:
    request = Request(elsewhere=False)
    site.connect(request, site.pick())
    await until(lambda: request.asked > 1)
    stream = MemoryEndpointStream(lambda _: None, reused=False)
    site.pool.pending[0].set_result(stream)
    await until(lambda: bool(request.ends))
    assert request.ends[0][0] is stream


async def test_of_the_connects_that_nobody_waits_for_the_oldest_goes_on(site: Site) -> None:
    requests = [Request(), Request(), Request()]
    for request in requests:
        site.connect(request, site.pick())
        site.runtime.balancer().pick()  # the turn of the other endpoint
        await asyncio.sleep(0)
    await until(lambda: all(request.asked for request in requests))
    await until(lambda: len(site.pool.awaited) == 1)
    assert [future.cancelled() for future in site.pool.pending] == [False, True, True]
    for each in tuple(site.pool.awaited):
        each.endpoint_left()
    await until(lambda: not site.pool.awaited)
    assert site.pool.pending[0].cancelled(), "a connect does not outlast its endpoint"


def test_a_connect_that_is_given_up_before_it_began_is_forgotten() -> None:
    """uvloop runs timers that are due before what was to follow in the next turn, such as the first step of a task."""
    with asyncio.Runner(loop_factory=loop_factory("uvloop")) as runner:
        runner.run(given_up_at_once())


async def given_up_at_once() -> None:
    site, older, hasty, loop = Site(), Request(elsewhere=False), Request(seconds=0.001), asyncio.get_running_loop()
    site.connect(older, site.pick())
    await until(lambda: bool(site.pool.pending))
    site.runtime.balancer().pick()  # the turn of the other endpoint
    own, peer = socket.socketpair()

    def begin() -> None:
        loop.remove_reader(own)
        site.connect(hasty, site.pick())
        hasty.seconds = 0.0
        stall(0.02)

    with own, peer:
        loop.add_reader(own, begin)
        peer.send(b"?")
        await until(lambda: hasty.ends == [(None, ErrorKind.CALL_TIMEOUT)])
    await until(lambda: len(site.pool.awaited) == 1)
    site.pool.pending[0].set_result(MemoryEndpointStream(lambda _: None, reused=False))
    await until(lambda: not site.pool.awaited)
    assert site.runtime.silence.pending == 0


async def test_an_endpoint_that_is_silent_while_another_answers_is_ejected_and_its_idle_connections_go(
    site: Site,
) -> None:
    request = Request()
    site.connect(request, site.pick())
    await until(lambda: bool(site.pool.pending))
    site.runtime.silence.heard(site.other, time.perf_counter())
    await until(lambda: request.asked > 0)
    assert site.member.is_silent
    assert site.pool.drops == 1
    assert site.ejections == 1
    site.pool.pending[0].set_result(MemoryEndpointStream(lambda _: None, reused=False))
    await until(lambda: site.member.health.is_well)


async def test_if_nobody_is_heard_others_are_asked_and_the_request_waits_for_what_they_say(site: Site) -> None:
    site.pools.error = None
    request = Request()
    site.connect(request, site.pick())
    await until(lambda: request.asked > 0)
    assert site.member.is_silent
    assert site.other.health.heard_at > site.member.health.heard_at
    assert site.ejections == 1
    site.pool.pending[0].cancel()


async def test_a_connect_that_fails_after_its_request_has_left_is_a_failure_of_the_endpoint(site: Site) -> None:
    request = Request()
    site.connect(request, site.pick())
    await until(lambda: request.asked > 0)
    site.pool.pending[0].set_exception(ConnectionRefusedError())
    await until(lambda: site.member.health.failures_in_a_row == 1)
    assert request.ends == []


async def test_a_probe_is_judged_by_its_connect_although_its_request_has_left(site: Site) -> None:
    assert site.runtime.health.eject(site.member.health, 0.0, Ejected(Cause.IN_A_ROW))
    until_before = site.member.health.ejected_until
    waits, request = Request(elsewhere=False), Request()
    pick = site.runtime.balancer().pick((site.other,)) or site.runtime.balancer().pick(now=1000.0)
    assert pick is not None
    site.connect(waits, pick)
    await asyncio.sleep(0)
    site.connect(request, pick.as_probe())
    await until(lambda: request.asked > 0)
    site.pool.pending[1].set_exception(TimeoutError())
    await until(lambda: site.member.health.ejected_until != until_before)
    site.pool.pending[0].cancel()


async def test_a_request_is_asked_at_once_when_the_endpoint_leaves(site: Site) -> None:
    site.runtime.silence.connected(site.other, LONG, 0.0)  # connects are slow here
    stays, goes = Request(elsewhere=False), Request()
    for request in (stays, goes):
        site.connect(request, site.pick())
        site.runtime.balancer().pick()
    await until(lambda: len(site.pool.pending) == 2)
    for each in tuple(site.pool.awaited):
        each.endpoint_left()
    await until(lambda: goes.asked == stays.asked == 1)
    await until(site.pool.pending[1].cancelled)
    assert not site.pool.pending[0].done()
    site.pool.pending[0].cancel()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError(), ErrorKind.CONNECT_TIMEOUT),
        (ssl.SSLError(), ErrorKind.ENDPOINT_TLS),
        (ConnectionRefusedError(), ErrorKind.CONNECT_REFUSED),
    ],
)
async def test_a_request_is_told_why_there_is_no_connection(site: Site, error: Exception, kind: ErrorKind) -> None:
    request = Request()
    site.connect(request, site.pick())
    await until(lambda: bool(site.pool.pending))
    site.pool.pending[0].set_exception(error)
    await until(lambda: bool(request.ends))
    assert request.ends == [(None, kind)]


async def test_a_call_ends_with_its_time_and_its_connect_goes_on(site: Site) -> None:
    request = Request(elsewhere=False, seconds=0.0)
    site.connect(request, site.pick())
    await until(lambda: bool(request.ends))
    assert request.ends == [(None, ErrorKind.CALL_TIMEOUT)]
    assert not site.pool.pending[0].done()
    site.pool.pending[0].cancel()


async def test_a_connect_that_is_cancelled_leaves_no_request_waiting(site: Site) -> None:
    request = Request()
    site.connect(request, site.pick())
    await until(lambda: bool(site.pool.pending))
    site.pool.pending[0].cancel()
    await until(lambda: bool(request.ends))
    assert request.ends == [(None, ErrorKind.CLIENT_LEFT)]
