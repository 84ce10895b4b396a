"""One exchange on real sockets: bounded memory, bounded time, bounded bodies, and an end when the client leaves."""

from __future__ import annotations

import asyncio

import pytest

from balancer.model.policies import RoutePolicy
from balancer.model.settings import ProxySettings
from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.fakes.sockets import settled, until
from tests.unit.balancer.proxy.standing import GET, NARROW_BYTES, OK, UNDER_WAY_BYTES, Standing, post, shop, standing

pytestmark = pytest.mark.large

CHUNKED_POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n"
UNLIMITED = RoutePolicy(max_body_bytes=0)
GROWN_BUFFER_BYTES = 6 * 1024 * 1024  # what Linux lets the buffers of a connection of ours to an endpoint grow to


async def test_a_client_that_does_not_read_holds_the_endpoint_back() -> None:
    size, sent = 10_000_000, 0

    async def script(visit: Visit) -> None:
        nonlocal sent
        await visit.head()
        await visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        while sent < size:
            await visit.send(b"x" * 10_000)
            sent += 10_000

    async with (
        ScriptedEndpoint(script, buffer_bytes=NARROW_BYTES) as endpoint,
        standing(shop([endpoint])) as proxy,
        proxy.client(buffer_bytes=NARROW_BYTES) as client,
    ):
        client.stop_reading()
        client.send(GET)
        assert await settled(lambda: sent) < UNDER_WAY_BYTES + GROWN_BUFFER_BYTES
        client.resume_reading()
        await client.head()
        await client.reader.readexactly(500_000)
        assert await settled(lambda: sent) < size


async def test_an_endpoint_that_does_not_read_holds_the_client_back() -> None:
    size = 12_000_000
    go_on = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.head()
        await go_on.wait()
        received = 0
        while received < size:
            received += len(await visit.some())
        await visit.send(OK)

    async with (
        ScriptedEndpoint(script, buffer_bytes=NARROW_BYTES) as endpoint,
        standing(shop([endpoint], policy=UNLIMITED)) as proxy,
        proxy.client(buffer_bytes=NARROW_BYTES) as client,
    ):
        client.send(post(length=size))
        await until(lambda: endpoint.requests == 1)
        client.send(b"x" * size)
        assert size - await settled(lambda: client.unsent_bytes) < UNDER_WAY_BYTES + GROWN_BUFFER_BYTES
        go_on.set()
        assert (await client.response()).body == b"hello"


async def test_pipelined_answers_that_nobody_reads_do_not_pile_up() -> None:
    size, sent = 200_000, 0

    async def script(visit: Visit) -> None:
        nonlocal sent
        while True:
            await visit.head()
            await visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size)
            sent += size

    async with (
        ScriptedEndpoint(script, buffer_bytes=NARROW_BYTES) as endpoint,
        standing(shop([endpoint])) as proxy,
        proxy.client(buffer_bytes=NARROW_BYTES) as client,
    ):
        client.stop_reading()
        client.send(GET * 100)
        assert await settled(lambda: sent) < UNDER_WAY_BYTES + size
        client.resume_reading()
        for _ in range(5):
            assert len((await client.response()).body) == size


async def test_a_body_that_stops_coming_is_a_408() -> None:
    async def script(visit: Visit) -> None:
        await visit.rest()

    settings = ProxySettings(client_body_timeout_seconds=0.1)
    async with (
        ScriptedEndpoint(script) as endpoint,
        standing(shop([endpoint], settings=settings)) as proxy,
        proxy.client() as client,
    ):
        response = await client.ask(post(b"hel", length=5))
        assert (response.status, response.fields[b"connection"]) == (408, b"close")
        await until(lambda: not proxy.pools.open)


async def test_an_endpoint_that_does_not_answer_in_time_is_a_504() -> None:
    async def script(visit: Visit) -> None:
        await visit.rest()

    policy = RoutePolicy(read_timeout_seconds=0.1, tries=1)
    async with (
        ScriptedEndpoint(script) as endpoint,
        standing(shop([endpoint], policy=policy)) as proxy,
        proxy.client() as client,
    ):
        assert (await client.ask(GET)).status == 504
        await until(lambda: not proxy.pools.open)


async def test_an_endpoint_that_does_not_take_the_body_is_a_504() -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        await asyncio.get_running_loop().create_future()

    policy = RoutePolicy(send_timeout_seconds=0.2, max_body_bytes=0)
    async with (
        ScriptedEndpoint(script, buffer_bytes=NARROW_BYTES) as endpoint,
        standing(shop([endpoint], policy=policy)) as proxy,
        proxy.client() as client,
    ):
        assert (await client.ask(post(b"x" * 16_000_000))).status == 504


async def fill(proxy: Standing, client: RawClient) -> int:
    """Send until the endpoint's connection holds back, in steps that the proxy takes whole; the bytes sent.

    So the last news of the exchange is that the endpoint takes bytes again, and no data of the client's follows it.
    """
    sent = 0
    while not proxy.holds_back():
        client.send(b"x" * 8_192)
        sent += 8_192
        await until(lambda: client.unsent_bytes == 0)
        for _ in range(5):  # the proxy reads in this same loop, and what is sent on loopback is there at once
            await asyncio.sleep(0)
    return sent


async def test_a_tunnel_whose_endpoint_took_its_bytes_late_ends_when_nothing_moves() -> None:
    taken = 0
    go_on = asyncio.Event()

    async def script(visit: Visit) -> None:
        nonlocal taken
        await visit.head()
        await visit.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        await go_on.wait()
        taken = len(await visit.rest())

    asking = b"GET / HTTP/1.1\r\nHost: shop.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    async with (
        ScriptedEndpoint(script, buffer_bytes=NARROW_BYTES) as endpoint,
        standing(shop([endpoint], policy=RoutePolicy(read_timeout_seconds=0.3))) as proxy,
        proxy.client() as client,
    ):
        client.send(asking)
        await client.head()
        sent = await fill(proxy, client)
        go_on.set()
        assert await asyncio.wait_for(client.rest(), 30) == b""
        await until(lambda: taken == sent)


async def test_a_client_that_does_not_take_its_answer_is_cut() -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 8000000\r\n\r\n" + b"x" * 8_000_000)

    policy = RoutePolicy(send_timeout_seconds=0.2)
    async with (
        ScriptedEndpoint(script) as endpoint,
        standing(shop([endpoint], policy=policy)) as proxy,
        proxy.client(buffer_bytes=NARROW_BYTES) as client,
    ):
        client.stop_reading()
        client.send(GET)
        await until(lambda: bool(proxy.clients))
        await until(lambda: not proxy.clients and not proxy.pools.open)


async def test_a_slow_but_steady_exchange_outlives_every_deadline() -> None:
    """Twelve pieces take longer than the deadline; between two of them a busy machine has nine tenths of it."""
    pieces = 12

    async def script(visit: Visit) -> None:
        await visit.head()
        for _ in range(pieces):
            await visit.exactly(1)
        await visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % pieces)
        for _ in range(pieces):
            await asyncio.sleep(0.1)
            await visit.send(b"y")

    policy = RoutePolicy(read_timeout_seconds=1.0)
    settings = ProxySettings(client_body_timeout_seconds=1.0)
    async with (
        ScriptedEndpoint(script) as endpoint,
        standing(shop([endpoint], policy=policy, settings=settings)) as proxy,
        proxy.client() as client,
    ):
        client.send(post(length=pieces))
        for _ in range(pieces):
            await asyncio.sleep(0.1)
            client.send(b"x")
        assert (await client.response()).body == b"y" * pieces


async def test_a_client_that_leaves_cancels_the_work_of_the_endpoint() -> None:
    cancelled = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.rest()
        cancelled.set()

    async with ScriptedEndpoint(script) as endpoint, standing(shop([endpoint])) as proxy, proxy.client() as client:
        client.send(GET)
        await until(lambda: endpoint.requests == 1)
        client.reset()
        await asyncio.wait_for(cancelled.wait(), 30)
        await until(lambda: not proxy.clients)


@pytest.mark.parametrize("sent", [post(b"hel", length=5), CHUNKED_POST + b"3\r\nhel\r\n"])
async def test_a_request_cut_short_is_never_ended_towards_the_endpoint(sent: bytes) -> None:
    received = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.rest()
        received.set()

    async with ScriptedEndpoint(script) as endpoint, standing(shop([endpoint])) as proxy, proxy.client() as client:
        client.send(sent)
        await until(lambda: b"hel" in endpoint.visits[0].received if endpoint.visits else False)
        client.finish_sending()
        assert (await client.response()).status == 400
        await asyncio.wait_for(received.wait(), 30)
        assert endpoint.visits[0].received.endswith((b"hel", b"hel\r\n"))


async def test_a_chunked_body_over_its_limit_is_a_413_and_never_ended_towards_the_endpoint() -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.rest()

    async with (
        ScriptedEndpoint(script) as endpoint,
        standing(shop([endpoint], policy=RoutePolicy(max_body_bytes=10))) as proxy,
        proxy.client() as client,
    ):
        response = await client.ask(CHUNKED_POST + b"8\r\n12345678\r\n8\r\n12345678\r\n0\r\n\r\n")
        assert (response.status, response.fields[b"connection"]) == (413, b"close")
        await until(lambda: not proxy.pools.open)
        assert not endpoint.visits[0].received.endswith(b"0\r\n\r\n")


async def test_a_body_of_exactly_its_limit_passes() -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.until(b"0\r\n\r\n")
        await visit.send(OK)

    async with (
        ScriptedEndpoint(script) as endpoint,
        standing(shop([endpoint], policy=RoutePolicy(max_body_bytes=8))) as proxy,
        proxy.client() as client,
    ):
        assert (await client.ask(CHUNKED_POST + b"8\r\n12345678\r\n0\r\n\r\n")).status == 200
