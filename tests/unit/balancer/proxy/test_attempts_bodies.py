"""Retries and request bodies: once a byte of a body was taken, no other endpoint sees the request or the body's rest.

Whoever reads a chunked body from its middle takes data of the client's for framing, and its rest for another request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from balancer.metrics.definitions import RETRIES
from balancer.model import RoutePolicy
from tests.fakes.clients import Response
from tests.fakes.endpoints import Script, ScriptedEndpoint, Visit, answering
from tests.fakes.sockets import until
from tests.unit.balancer.proxy.standing import GET, OK, Standing, post, shop, standing

CHUNKED_POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n"
STOLEN = b"GET /stolen HTTP/1.1\r\nHost: shop.test\r\n\r\n"
DATA = b"0\r\n\r\n" + STOLEN  # ends a body wherever it is not read as data
SIZE_LINE = b"%x\r\n" % len(DATA)
BODY = SIZE_LINE + DATA + b"\r\n0\r\n\r\n"
EAGER = RoutePolicy(retry_on=("error", "timeout", "invalid_header", "http_503", "non_idempotent"))

Failing = Callable[[Visit], Awaitable[None]]


async def says_503(visit: Visit) -> None:
    await visit.send(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nsick")


async def says_nonsense(visit: Visit) -> None:
    await visit.send(b"nonsense\r\n\r\n")


async def closes(visit: Visit) -> None:
    await visit.close()


async def resets(visit: Visit) -> None:
    visit.reset()


def after_the_head(fails: Failing, when: asyncio.Event) -> Script:
    """A script that reads a request head, and later fails without having taken a byte of the body for its own."""

    async def script(visit: Visit) -> None:
        await visit.head()
        await when.wait()
        await fails(visit)
        await visit.rest()

    return script


async def until_body_begun(proxy: Standing) -> None:
    await until(lambda: any(client.body_begun for client in proxy.clients))


@pytest.mark.parametrize(("fails", "status"), [(says_503, 503), (says_nonsense, 502), (closes, 502), (resets, 502)])
@pytest.mark.parametrize(
    ("sent", "rest"),
    [
        pytest.param(CHUNKED_POST + SIZE_LINE, BODY.removeprefix(SIZE_LINE), id="a size and no data"),
        pytest.param(CHUNKED_POST + SIZE_LINE[:1], BODY[1:], id="half a size"),
        pytest.param(CHUNKED_POST + BODY[:-10], BODY[-10:], id="some data"),
        pytest.param(CHUNKED_POST + BODY, STOLEN, id="a whole body"),
        pytest.param(post(b"x", length=len(DATA) + 1), DATA, id="some data of known length"),
        pytest.param(post(b"data"), STOLEN, id="a whole body of known length"),
    ],
)
async def test_once_a_body_has_begun_no_failure_makes_another_endpoint_see_any_of_it(
    fails: Failing, status: int, sent: bytes, rest: bytes
) -> None:
    begun = asyncio.Event()
    async with (
        ScriptedEndpoint(after_the_head(fails, begun)) as one,
        ScriptedEndpoint(answering(OK), address="127.0.0.2") as two,
        standing(shop([one, two], policy=EAGER)) as proxy,
    ):
        async with proxy.client() as client:
            client.send(sent)
            await until_body_begun(proxy)
            await until(lambda: one.requests == 1)
            begun.set()
            answer = asyncio.ensure_future(client.response())
            await until(lambda: answer.done() or two.requests > 0)
            client.send(rest)
            await assert_ended(answer, status)
        assert two.requests == 0
        assert heads_written(one) == 1
        assert proxy.metric(RETRIES) == {}


def heads_written(endpoint: ScriptedEndpoint) -> int:
    """How many requests the proxy sent to an endpoint, whatever data of the client's looks like one."""
    return sum(visit.received.count(b"\r\nX-Forwarded-For: ") for visit in endpoint.visits)


async def assert_ended(answer: asyncio.Future[Response], status: int) -> None:
    async with asyncio.timeout(10):
        assert (await answer).status == status


async def test_a_stale_connection_with_a_body_begun_gets_no_fresh_one() -> None:
    begun = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(OK)
        await visit.head()
        await begun.wait()

    async with (
        ScriptedEndpoint(script) as endpoint,
        standing(shop([endpoint], policy=EAGER)) as proxy,
        proxy.client() as client,
    ):
        assert (await client.ask(GET)).status == 200
        client.send(CHUNKED_POST.replace(b"POST", b"PUT") + SIZE_LINE)
        await until(lambda: endpoint.requests == 2)
        await until_body_begun(proxy)
        begun.set()
        assert (await client.response()).status == 502
        assert endpoint.requests == 2


async def test_before_its_body_has_begun_a_request_may_go_on_and_the_body_comes_whole() -> None:
    go_on = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.exactly(len(BODY))
        await visit.send(OK)

    go_on.set()
    async with (
        ScriptedEndpoint(after_the_head(closes, go_on)) as one,
        ScriptedEndpoint(script, address="127.0.0.2") as two,
        standing(shop([one, two], policy=EAGER)) as proxy,
        proxy.client() as client,
    ):
        client.send(CHUNKED_POST)
        await until(lambda: two.requests == 1)
        assert (await client.ask(BODY)).status == 200
        assert (one.requests, two.visits[0].received.partition(b"\r\n\r\n")[2]) == (1, BODY)
