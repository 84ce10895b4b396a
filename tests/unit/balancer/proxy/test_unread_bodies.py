"""The rest of a client's body, after the request was answered in another way: no endpoint takes it for a request."""

from __future__ import annotations

import asyncio

import pytest

from balancer.model.policies import RoutePolicy
from balancer.proxy.bodies import KEPT_BODY_BYTES
from tests.fakes.endpoints import ScriptedEndpoint, Visit, answering
from tests.fakes.sockets import until
from tests.unit.balancer.proxy.standing import standing
from tests.unit.balancer.proxy.test_error_pages import MISSING, PAGE, paged

pytestmark = pytest.mark.large

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: shop.test\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """One chunk of a body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


async def test_the_rest_of_a_long_body_never_reaches_the_error_service() -> None:
    part = b"x" * (KEPT_BODY_BYTES + 1)
    asked, told = asyncio.Event(), asyncio.Event()

    async def early(visit: Visit) -> None:
        await visit.head()
        await visit.exactly(len(part))
        await visit.send(MISSING)

    async def slow(visit: Visit) -> None:
        await visit.head()
        asked.set()
        await told.wait()
        await visit.send(PAGE)
        await visit.rest()

    async with (
        ScriptedEndpoint(early) as web,
        ScriptedEndpoint(slow) as err,
        standing(paged([web], [err])) as proxy,
        proxy.client() as client,
    ):
        length = len(part) + 2 * len(SMUGGLED)
        client.send(b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: %d\r\n\r\n" % length + part)
        await asked.wait()
        client.send(SMUGGLED + SMUGGLED)
        (served,) = proxy.clients
        await until(lambda: not served.stream.takes_body())
        told.set()
        assert (await client.response()).body == b"sorry"
        await proxy.idle()
        assert b"smuggled" not in err.visits[0].received


@pytest.mark.parametrize("spools", [False, True])
async def test_a_body_that_grows_too_long_never_reaches_the_error_service(spools: bool) -> None:
    policy = RoutePolicy(max_body_bytes=1000, spools_bodies=spools)
    async with (
        ScriptedEndpoint(answering(MISSING)) as web,
        ScriptedEndpoint(answering(PAGE)) as err,
        standing(paged([web], [err], policy=policy)) as proxy,
        proxy.client() as client,
    ):
        client.send(CHUNKED + chunk(b"x" * 20_000) + chunk(SMUGGLED) + b"0\r\n\r\n")
        assert (await client.response()).body == b"sorry"
        await proxy.idle()
        assert [visit.received.count(b"HTTP/1.1") for visit in err.visits] == [1]
        assert b"smuggled" not in err.visits[0].received
        assert len(web.visits) == (0 if spools else 1)
        (line,) = proxy.log()
        assert line["error"] == "body_too_large"
