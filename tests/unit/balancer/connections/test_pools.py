"""Pools on real sockets: the youngest idle connection first, limits kept, and nothing shared or kept too long."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from balancer.connections.pools import ConnectionPool, ConnectionPools
from balancer.errors import ErrorKind, NoPlaceError
from balancer.http.consumers import ResponseConsumer
from balancer.http.current import CurrentSettings
from balancer.http.messages import ResponseHead, Trailers
from balancer.http1.endpoint import EndpointConnection
from balancer.model.endpoints import Endpoint
from balancer.model.handshakes import Handshake
from balancer.model.settings import ProxySettings
from balancer.picking.members import Member
from balancer.runtime.deadlines import Deadlines
from balancer.runtime.shares import FairShares
from tests.fakes.endpoints import Script, ScriptedEndpoint, Visit, answering
from tests.fakes.sockets import until
from tests.messages import outgoing

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


class Taker(ResponseConsumer):
    """Waits for the end of one response."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self.failure: ErrorKind | None = None

    def interim(self, response: ResponseHead) -> None: ...
    def switched(self, response: ResponseHead, data: bytes) -> None: ...
    def response_started(self, response: ResponseHead, data: bytes, trailers: Trailers | None) -> None:
        if trailers is not None:
            self.ended.set()

    def response_data(self, data: bytes) -> None: ...
    def response_end(self, trailers: Trailers) -> None:
        self.ended.set()

    def endpoint_failed(self, kind: ErrorKind) -> None:
        self.failure = kind
        self.ended.set()

    def endpoint_paused(self) -> None: ...
    def endpoint_resumed(self) -> None: ...


class Bench:
    """Pools over one scripted endpoint."""

    def __init__(self, endpoint: ScriptedEndpoint, settings: ProxySettings) -> None:
        self.settings = CurrentSettings(settings)
        self.endpoint = endpoint
        self.deadlines = Deadlines(asyncio.get_running_loop())
        self.pools = ConnectionPools(deadlines=self.deadlines, settings=self.settings)

    def member(self, namespace: str = "") -> Member:
        return Member(Endpoint(address="127.0.0.1", port=self.endpoint.port), namespace)

    async def fresh(self, pool: ConnectionPool) -> EndpointConnection:
        return await pool.connect(5)

    async def used(self, pool: ConnectionPool) -> EndpointConnection:
        """A fresh connection after one exchange, not yet released."""
        connection, taker = await self.fresh(pool), Taker()
        connection.begin(taker, outgoing())
        await taker.ended.wait()
        return connection


@asynccontextmanager
async def bench(script: Script | None = None, **settings: float) -> AsyncIterator[Bench]:
    async with ScriptedEndpoint(script or answering(OK)) as endpoint:
        made = Bench(endpoint, msgspec.structs.replace(ProxySettings(), **settings))
        yield made
        made.pools.close_all()
        await until(lambda: not made.pools.open)
        made.deadlines.stop()


async def test_a_member_keeps_its_pool_and_shares_it_with_nobody() -> None:
    async with bench() as bed:
        one, other = bed.member(), bed.member()
        assert bed.pools.single(one) is bed.pools.single(one)
        assert bed.pools.single(one) is not bed.pools.single(other)
        (await bed.used(bed.pools.single(one))).release()
        assert bed.pools.single(other).lease(False) is None


async def test_the_connection_that_became_idle_last_is_taken_first() -> None:
    async with bench() as bed:
        pool = bed.pools.single(bed.member())
        assert pool.lease(False) is None
        first, second = await bed.used(pool), await bed.used(pool)
        first.release()
        second.release()
        assert bed.pools.idle_count == 2
        assert [pool.lease(False), pool.lease(False), pool.lease(False)] == [second, first, None]
        assert bed.pools.idle_count == 0
        assert bed.pools.open == {first, second}


async def test_a_connection_idle_for_too_long_is_not_given_to_those_who_mind() -> None:
    async with bench() as bed:
        pool = bed.pools.single(bed.member())
        connection = await bed.used(pool)
        connection.release()
        connection.idle_since -= 1.0
        assert pool.lease(True) is None
        assert pool.lease(False) is connection


async def test_no_more_connections_are_kept_than_the_limit_of_all_pools() -> None:
    async with bench(endpoint_idle_connections=2) as bed:
        pools = [bed.pools.single(bed.member()) for _ in range(3)]
        connections = [await bed.used(pool) for pool in pools]
        for connection in connections:
            connection.release()
        assert bed.pools.idle_count == 2
        await until(lambda: connections[2].closed)


async def test_beyond_that_limit_a_connection_of_the_namespace_that_keeps_most_is_closed() -> None:
    async with bench(endpoint_idle_connections=4) as bed:
        greedy, modest = (bed.pools.single(bed.member(name)) for name in ("greedy", "modest"))
        first, *others = [await bed.used(greedy) for _ in range(4)]
        own = [await bed.used(modest) for _ in range(3)]
        for connection in (first, *others, *own):
            connection.release()
        assert bed.pools.idle_count == 4
        await until(lambda: first.closed and others[0].closed and own[2].closed)
        assert [modest.lease(False), modest.lease(False), modest.lease(False)] == [own[1], own[0], None]
        assert bed.pools.idle_count == 2
        bed.pools.close([modest._member])
        assert bed.pools.idle_count == 2


async def test_a_connection_that_served_its_share_is_not_kept() -> None:
    async with bench(endpoint_requests=1) as bed:
        pool = bed.pools.single(bed.member())
        (await bed.used(pool)).release()
        assert pool.lease(False) is None


async def test_settings_are_asked_anew_each_time() -> None:
    async with bench(endpoint_requests=1) as bed:
        bed.settings.proxy = ProxySettings()
        pool = bed.pools.single(bed.member())
        connection = await bed.used(pool)
        connection.release()
        assert pool.lease(False) is connection


async def test_an_idle_connection_that_the_endpoint_closes_is_forgotten() -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(OK)

    async with bench(script) as bed:
        pool = bed.pools.single(bed.member())
        (await bed.used(pool)).release()
        await until(lambda: bed.pools.idle_count == 0)
        assert pool.lease(False) is None
        assert not bed.pools.open


async def test_bytes_on_an_idle_connection_discard_it() -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(OK)
        await idle.wait()
        await visit.send(b"x")
        await visit.rest()

    idle = asyncio.Event()
    async with bench(script) as bed:
        pool = bed.pools.single(bed.member())
        (await bed.used(pool)).release()
        assert bed.pools.idle_count == 1
        idle.set()
        await until(lambda: bed.pools.idle_count == 0)
        assert pool.lease(False) is None


async def test_an_idle_connection_is_closed_after_its_time_and_one_in_use_is_not() -> None:
    async with bench(endpoint_idle_seconds=0.05) as bed:
        pool = bed.pools.single(bed.member())
        idle, reused = await bed.used(pool), await bed.used(pool)
        idle.release()
        reused.release()
        assert pool.lease(False) is reused
        reused.begin(Taker(), outgoing())
        await until(lambda: idle.closed)
        assert not reused.closed
        assert bed.pools.idle_count == 0


async def test_a_closed_pool_keeps_nothing() -> None:
    async with bench() as bed:
        member = bed.member()
        pool = bed.pools.single(member)
        idle, busy = await bed.used(pool), await bed.used(pool)
        idle.release()
        bed.pools.close([member, bed.member()])
        await until(lambda: idle.closed)
        assert not busy.closed
        busy.release()
        await until(lambda: busy.closed)
        assert (bed.pools.idle_count, len(bed.pools.open)) == (0, 0)


async def test_an_endpoint_that_refuses_is_an_os_error() -> None:
    async with bench() as bed:
        member = bed.member()
        await bed.endpoint.stop()
        with pytest.raises(ConnectionRefusedError):
            await bed.fresh(bed.pools.single(member))
        assert not bed.pools.open


async def test_connecting_has_a_time_limit() -> None:
    async with bench() as bed:
        with pytest.raises(TimeoutError):
            await bed.pools.single(bed.member()).connect(0)
        assert not bed.pools.open


async def test_each_way_to_speak_tls_has_connections_of_its_own() -> None:
    async with bench() as bed:
        member = bed.member()
        plain, careless, named = (bed.pools.single(member, tls) for tls in (None, Handshake(), Handshake(True, "a.b")))
        assert len({plain, careless, named}) == 3
        assert bed.pools.single(member, Handshake(True, "a.b")) is named
        (await bed.used(plain)).release()
        assert careless.lease(False) is None
        bed.pools.close([member])
        assert plain.lease(False) is None
        late = bed.pools.single(member, Handshake(server_name="late.test"))
        assert late is not careless


async def test_what_does_not_speak_tls_is_an_ssl_error() -> None:
    async def script(visit: Visit) -> None:
        await visit.some()
        await visit.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with bench(script) as bed:
        with pytest.raises(ssl.SSLError):
            await bed.fresh(bed.pools.single(bed.member(), Handshake()))
        assert not bed.pools.open


async def test_a_stream_says_whether_its_connection_was_used_before() -> None:
    async with bench() as bed:
        pool = bed.pools.single(bed.member())
        connection = await bed.used(pool)
        assert not connection.reused
        connection.release()
        assert pool.lease(False) is connection
        assert connection.reused


async def test_a_connection_whose_request_was_answered_before_its_body_was_sent_is_not_kept() -> None:
    async with bench() as bed:
        pool = bed.pools.single(bed.member())
        connection, taker = await bed.fresh(pool), Taker()
        connection.begin(taker, outgoing(b"PUT", body_bytes=5))
        await taker.ended.wait()
        connection.send(b"hell")
        connection.release()
        assert pool.lease(False) is None
        await until(lambda: connection.closed)


async def test_a_namespace_makes_no_more_connections_than_its_share_and_others_make_theirs() -> None:
    async with bench() as bed:
        bed.pools.places = FairShares(8)
        greedy, modest = bed.pools.single(bed.member("greedy")), bed.pools.single(bed.member("modest"))
        held = [await bed.used(greedy) for _ in range(4)]
        with pytest.raises(NoPlaceError):
            await bed.fresh(greedy)
        (await bed.used(modest)).release()
        for each in held:
            each.release()


async def test_a_namespace_at_its_share_gives_up_an_idle_connection_for_a_new_one() -> None:
    async with bench() as bed:
        bed.pools.places = FairShares(4)
        busy, other = bed.pools.single(bed.member("shop")), bed.pools.single(bed.member("shop"))
        held = [await bed.used(busy), await bed.used(busy)]
        held[0].release()
        (await bed.used(other)).release()
        assert bed.pools.places.held("shop") == 2
        assert held[0].closed
        held[1].release()


async def test_places_are_back_however_a_connection_ends() -> None:
    async with bench() as bed:
        bed.pools.places = FairShares(4)
        pool = bed.pools.single(bed.member("shop"))
        (await bed.used(pool)).reset()
        await bed.endpoint.stop()
        with pytest.raises(ConnectionRefusedError):
            await bed.fresh(pool)
        await until(lambda: bed.pools.places.free == 4)
