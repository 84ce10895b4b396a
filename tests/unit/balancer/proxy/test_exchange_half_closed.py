"""A client that closes its side after a chunked body gets the body delivered whole, however late, and its answer."""

from __future__ import annotations

import asyncio

import pytest

from balancer.model.policies import RoutePolicy
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.fakes.sockets import settled, until
from tests.unit.balancer.proxy.standing import GET, NARROW_BYTES, OK, shop, standing

CHUNKED_POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"\r\n0\r\n\r\n"
DATUM = b"~"  # is in no head and in no size


def chunked(size: int, *, chunk_bytes: int) -> bytes:
    """A chunked body of `size` bytes, a multiple of `chunk_bytes`."""
    chunk = b"%x\r\n%b\r\n" % (chunk_bytes, DATUM * chunk_bytes)
    return chunk * (size // chunk_bytes) + END.removeprefix(b"\r\n")


async def test_a_body_that_came_whole_while_an_earlier_request_was_answered() -> None:
    size = 40_000  # more than is decoded in one turn of the loop, less than is read ahead of its turn
    go_on = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.head()
        await go_on.wait()
        await visit.send(OK)
        await visit.head()
        await visit.until(END)
        await visit.send(OK)

    async with ScriptedEndpoint(script) as endpoint, standing(shop([endpoint])) as proxy, proxy.client() as client:
        client.send(GET + CHUNKED_POST + chunked(size, chunk_bytes=8_000))
        client.finish_sending()
        await until(lambda: endpoint.requests == 1)
        await settled(lambda: client.unsent_bytes)  # the end has come as well
        go_on.set()
        assert [(await client.response()).status for _ in range(2)] == [200, 200]
        assert await client.rest() == b""
        assert endpoint.visits[0].received.count(DATUM) == size


@pytest.mark.large
async def test_a_body_that_an_endpoint_held_back() -> None:
    size, received = 12_000_000, 0
    go_on = asyncio.Event()

    async def script(visit: Visit) -> None:
        nonlocal received
        await visit.head()
        await go_on.wait()
        while not visit.received.endswith(END) and (data := await visit.some()):
            received += data.count(DATUM)
            visit.received = visit.received[-len(END) :]  # not twelve megabytes, copied at every read
        await visit.send(OK)

    async with (
        ScriptedEndpoint(script, buffer_bytes=NARROW_BYTES) as endpoint,
        standing(shop([endpoint], policy=RoutePolicy(max_body_bytes=0))) as proxy,
        proxy.client() as client,
    ):
        client.send(CHUNKED_POST + chunked(size, chunk_bytes=60_000))
        client.finish_sending()
        await until(proxy.holds_back)
        go_on.set()
        assert (await client.response()).status == 200
        assert received == size
