"""Pools of HTTP/1.1 on real sockets: the youngest idle connection first, and nothing shared or kept too long."""

from __future__ import annotations

import asyncio
import ssl

import pytest

from balancer.model.handshakes import Handshake
from tests.fakes.endpoints import Visit
from tests.fakes.sockets import until
from tests.messages import outgoing
from tests.unit.balancer.connections.pooling import OK, Taker, bench

pytestmark = pytest.mark.large


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


async def test_a_connection_that_has_just_been_reset_is_not_given_to_those_who_mind() -> None:
    """It hears of that at the end of the turn, and what is sent until then is dropped."""

    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(OK)
        await idle.wait()
        visit.reset()

    idle, leased = asyncio.Event(), list[object]()
    async with bench(script) as bed:
        pool = bed.pools.single(bed.member())
        connection = await bed.used(pool)
        connection.release()
        transport = connection._tcp
        assert transport is not None
        transport.pause_reading()
        idle.set()
        await until(transport.has_unread)
        transport.resume_reading()  # in the next turn it is read,
        asyncio.get_running_loop().call_soon(lambda: leased.extend((connection.closed, pool.lease(True))))
        await until(lambda: bool(leased))
        assert leased == [False, None]


async def test_a_connection_that_served_its_share_is_not_kept() -> None:
    async with bench(endpoint_requests=1) as bed:
        pool = bed.pools.single(bed.member())
        (await bed.used(pool)).release()
        assert pool.lease(False) is None


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


async def test_an_endpoint_that_refuses_is_an_os_error() -> None:
    async with bench() as bed:
        member = bed.member()
        await bed.endpoint.stop()
        with pytest.raises(ConnectionRefusedError):
            await bed.fresh(bed.pools.single(member))
        assert not bed.pools.open


async def test_connecting_has_a_time_limit() -> None:
    async def script(visit: Visit) -> None:
        await visit.rest()  # no handshake

    async with bench(script) as bed:
        with pytest.raises(TimeoutError):
            await bed.pools.single(bed.member(), Handshake()).connect(0.01)
        assert not bed.pools.open


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
