"""Pools on real sockets: the youngest idle connection first, limits kept, and nothing shared or kept too long."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from balancer.errors import ErrorKind
from balancer.http1.chunked import Trailers
from balancer.http1.deadlines import Deadlines
from balancer.http1.endpoint import EndpointConnection
from balancer.http1.heads import ResponseHead
from balancer.http1.pools import Pool, Pools
from balancer.members import Member
from balancer.model import Endpoint, EndpointTls, ProxySettings
from tests.fakes.endpoints import Script, ScriptedEndpoint, Visit, answering
from tests.fakes.sockets import until

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


class Taker:
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
        self.settings = settings
        self.endpoint = endpoint
        self.deadlines = Deadlines(asyncio.get_running_loop())
        self.pools = Pools(deadlines=self.deadlines, settings=lambda: self.settings)

    def member(self) -> Member:
        return Member(Endpoint(address="127.0.0.1", port=self.endpoint.port))

    async def fresh(self, pool: Pool) -> EndpointConnection:
        return await pool.connect(timeout_seconds=5)

    async def used(self, pool: Pool) -> EndpointConnection:
        """A fresh connection after one exchange."""
        connection, taker = await self.fresh(pool), Taker()
        connection.begin(taker, method=b"GET", head=b"GET / HTTP/1.1\r\n\r\n")
        await taker.ended.wait()
        connection.release()
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
        assert bed.pools.of(one) is bed.pools.of(one)
        assert bed.pools.of(one) is not bed.pools.of(other)
        bed.pools.of(one).give_back(await bed.used(bed.pools.of(one)))
        assert bed.pools.of(other).take() is None


async def test_the_connection_that_became_idle_last_is_taken_first() -> None:
    async with bench() as bed:
        pool = bed.pools.of(bed.member())
        assert pool.take() is None
        first, second = await bed.used(pool), await bed.used(pool)
        pool.give_back(first)
        pool.give_back(second)
        assert bed.pools.idle_count == 2
        assert [pool.take(), pool.take(), pool.take()] == [second, first, None]
        assert bed.pools.idle_count == 0
        assert bed.pools.open == {first, second}


async def test_a_connection_idle_for_too_long_is_not_given_to_those_who_mind() -> None:
    async with bench() as bed:
        pool = bed.pools.of(bed.member())
        connection = await bed.used(pool)
        pool.give_back(connection)
        connection.idle_since -= 1.0
        assert pool.take(idle_at_most_seconds=0.5) is None
        assert pool.take() is connection


async def test_no_more_connections_are_kept_than_the_limit_of_all_pools() -> None:
    async with bench(endpoint_idle_connections=2) as bed:
        pools = [bed.pools.of(bed.member()) for _ in range(3)]
        connections = [await bed.used(pool) for pool in pools]
        for pool, connection in zip(pools, connections, strict=True):
            pool.give_back(connection)
        assert bed.pools.idle_count == 2
        await until(lambda: connections[2].closed)


async def test_a_connection_that_served_its_share_is_not_kept() -> None:
    async with bench(endpoint_requests=1) as bed:
        pool = bed.pools.of(bed.member())
        pool.give_back(await bed.used(pool))
        assert pool.take() is None


async def test_settings_are_asked_anew_each_time() -> None:
    async with bench(endpoint_requests=1) as bed:
        bed.settings = ProxySettings()
        pool = bed.pools.of(bed.member())
        connection = await bed.used(pool)
        pool.give_back(connection)
        assert pool.take() is connection


async def test_an_idle_connection_that_the_endpoint_closes_is_forgotten() -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(OK)

    async with bench(script) as bed:
        pool = bed.pools.of(bed.member())
        pool.give_back(await bed.used(pool))
        await until(lambda: bed.pools.idle_count == 0)
        assert pool.take() is None
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
        pool = bed.pools.of(bed.member())
        pool.give_back(await bed.used(pool))
        assert bed.pools.idle_count == 1
        idle.set()
        await until(lambda: bed.pools.idle_count == 0)
        assert pool.take() is None


async def test_an_idle_connection_is_closed_after_its_time_and_one_in_use_is_not() -> None:
    async with bench(endpoint_idle_seconds=0.05) as bed:
        pool = bed.pools.of(bed.member())
        idle, reused = await bed.used(pool), await bed.used(pool)
        pool.give_back(idle)
        pool.give_back(reused)
        assert pool.take() is reused
        reused.begin(Taker(), method=b"GET", head=b"GET / ")
        await until(lambda: idle.closed)
        assert not reused.closed
        assert bed.pools.idle_count == 0


async def test_a_closed_pool_keeps_nothing() -> None:
    async with bench() as bed:
        member = bed.member()
        pool = bed.pools.of(member)
        idle, busy = await bed.used(pool), await bed.used(pool)
        pool.give_back(idle)
        bed.pools.close([member, bed.member()])
        await until(lambda: idle.closed)
        assert not busy.closed
        pool.give_back(busy)
        await until(lambda: busy.closed)
        assert (bed.pools.idle_count, len(bed.pools.open)) == (0, 0)


async def test_an_endpoint_that_refuses_is_an_os_error() -> None:
    async with bench() as bed:
        member = bed.member()
        await bed.endpoint.stop()
        with pytest.raises(ConnectionRefusedError):
            await bed.fresh(bed.pools.of(member))
        assert not bed.pools.open


async def test_connecting_has_a_time_limit() -> None:
    async with bench() as bed:
        with pytest.raises(TimeoutError):
            await bed.pools.of(bed.member()).connect(timeout_seconds=0)
        assert not bed.pools.open


async def test_each_way_to_speak_tls_has_connections_of_its_own() -> None:
    async with bench() as bed:
        member = bed.member()
        plain, careless, named = (bed.pools.of(member, tls) for tls in (None, EndpointTls(), EndpointTls(True, "a.b")))
        assert len({plain, careless, named}) == 3
        assert bed.pools.of(member, EndpointTls(True, "a.b")) is named
        plain.give_back(await bed.used(plain))
        assert careless.take() is None
        bed.pools.close([member])
        assert plain.take() is None
        late = bed.pools.of(member, EndpointTls(server_name="late.test"))
        assert late is not careless


async def test_what_does_not_speak_tls_is_an_ssl_error() -> None:
    async def script(visit: Visit) -> None:
        await visit.some()
        await visit.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with bench(script) as bed:
        with pytest.raises(ssl.SSLError):
            await bed.fresh(bed.pools.of(bed.member(), EndpointTls()))
        assert not bed.pools.open
