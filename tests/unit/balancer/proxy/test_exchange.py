"""One exchange on real sockets: bodies of every framing, both ways, and no end that is a lie."""

from __future__ import annotations

import asyncio

import pytest

from balancer.model.policies import Affinity, RoutePolicy
from tests import builders
from tests.fakes.endpoints import Script, ScriptedEndpoint, Visit, answering
from tests.fakes.sockets import until
from tests.unit.balancer.proxy.standing import GET, NARROW_BYTES, OK, post, shop, standing

GET_1_0 = b"GET / HTTP/1.0\r\nHost: shop.test\r\n\r\n"
CHUNKED_POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n"
UNLIMITED = RoutePolicy(max_body_bytes=0)
CUT = (ConnectionError, asyncio.IncompleteReadError)


def saying(*parts: bytes, then_close: bool = False) -> Script:
    """A script that answers each request with `parts`, in a write each; `then_close` ends after the first."""

    async def script(visit: Visit) -> None:
        while True:
            await visit.head()
            for part in parts:
                await visit.send(part)
            if then_close:
                return

    return script


async def test_bodies_of_known_length_pass_both_ways_to_the_byte() -> None:
    body = bytes(range(256)) * 1000

    async def script(visit: Visit) -> None:
        assert b"\r\nContent-Length: 256000\r\n" in await visit.head()
        received = await visit.exactly(len(body))
        await visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(received) + received)

    async with ScriptedEndpoint(script) as endpoint, standing(shop([endpoint])) as proxy, proxy.client() as client:
        response = await client.ask(post(body))
        assert (response.status, response.body) == (200, body)
        assert response.fields[b"content-length"] == b"256000"


async def test_chunked_bodies_and_trailers_pass_both_ways() -> None:
    async def script(visit: Visit) -> None:
        assert b"\r\nTransfer-Encoding: chunked\r\n" in await visit.head()
        assert await visit.until(b"\r\n\r\n") == b"5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"
        await visit.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nbye\r\n0\r\nX-Sum: 2\r\n\r\n")

    async with ScriptedEndpoint(script) as endpoint, standing(shop([endpoint])) as proxy, proxy.client() as client:
        announcing = CHUNKED_POST.replace(b"\r\n\r\n", b"\r\nTrailer: x-sum\r\n\r\n")
        client.send(announcing + b"5;ext=1\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n")
        assert b"\r\nTransfer-Encoding: chunked\r\n" in await client.head()
        assert await client.reader.readuntil(b"\r\n\r\n") == b"3\r\nbye\r\n0\r\nX-Sum: 2\r\n\r\n"


async def test_a_chunked_body_streams_chunk_by_chunk() -> None:
    step = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.head()
        assert await visit.exactly(8) == b"3\r\none\r\n"
        await visit.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nuno\r\n")
        await step.wait()
        await visit.send(b"0\r\n\r\n")

    async with ScriptedEndpoint(script) as endpoint, standing(shop([endpoint])) as proxy, proxy.client() as client:
        client.send(CHUNKED_POST + b"3\r\none\r\n")
        await client.head()
        assert await client.reader.readexactly(8) == b"3\r\nuno\r\n"
        step.set()
        assert await client.reader.readexactly(5) == b"0\r\n\r\n"


async def test_a_response_until_close_is_chunked_for_http_1_1_and_keeps_the_connection() -> None:
    script = saying(b"HTTP/1.1 200 OK\r\n\r\nhel", b"lo", then_close=True)
    async with ScriptedEndpoint(script) as endpoint, standing(shop([endpoint])) as proxy, proxy.client() as client:
        for _ in range(2):
            response = await client.ask(GET)
            assert response.body == b"hello"
            assert response.fields[b"transfer-encoding"] == b"chunked"
            assert b"connection" not in response.fields


@pytest.mark.parametrize(
    ("script"),
    [
        saying(b"HTTP/1.1 200 OK\r\n\r\nhel", b"lo", then_close=True),
        saying(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
    ],
)
async def test_a_response_of_unknown_length_ends_with_the_connection_for_http_1_0(script: Script) -> None:
    async with ScriptedEndpoint(script) as endpoint, standing(shop([endpoint])) as proxy, proxy.client() as client:
        client.send(GET_1_0.replace(b"\r\n\r\n", b"\r\nConnection: keep-alive\r\n\r\n"))
        head = await client.head()
        assert b"Transfer-Encoding" not in head
        assert b"\r\nConnection: close\r\n" in head
        assert await client.rest() == b"hello"


async def test_http_1_0_keeps_its_connection_when_it_asks_and_the_length_is_known() -> None:
    async with (
        ScriptedEndpoint(answering(OK)) as endpoint,
        standing(shop([endpoint])) as proxy,
        proxy.client() as client,
    ):
        for _ in range(2):
            response = await client.ask(GET_1_0.replace(b"\r\n\r\n", b"\r\nConnection: keep-alive\r\n\r\n"))
            assert response.fields[b"connection"] == b"keep-alive"
        assert (await client.ask(GET_1_0)).fields[b"connection"] == b"close"
        assert await client.rest() == b""


@pytest.mark.parametrize(
    ("request_head", "response", "told"),
    [
        (GET.replace(b"GET", b"HEAD"), b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", b"5"),
        (GET.replace(b"GET", b"HEAD"), b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", None),
        (GET, b"HTTP/1.1 204 No Content\r\n\r\n", None),
        (GET, b"HTTP/1.1 304 Not Modified\r\nETag: a\r\nContent-Length: 5\r\n\r\n", b"5"),
    ],
)
async def test_bodiless_responses_end_with_their_head(request_head: bytes, response: bytes, told: bytes | None) -> None:
    async with (
        ScriptedEndpoint(answering(response)) as endpoint,
        standing(shop([endpoint])) as proxy,
        proxy.client() as client,
    ):
        for _ in range(2):
            assert (await client.ask(request_head, bodiless=True)).fields.get(b"content-length") == told
        assert len(endpoint.visits) == 1


async def test_interim_responses_pass_to_http_1_1_only() -> None:
    script = answering(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK)
    async with ScriptedEndpoint(script) as endpoint, standing(shop([endpoint])) as proxy, proxy.client() as client:
        client.send(GET)
        assert await client.head() == b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        assert (await client.response()).body == b"hello"
        assert (await client.ask(GET_1_0)).status == 200


async def test_100_passes_only_to_those_who_expect_it() -> None:
    async def script(visit: Visit) -> None:
        while True:
            await visit.head()
            await visit.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            await visit.exactly(5)
            await visit.send(OK)

    async with ScriptedEndpoint(script) as endpoint, standing(shop([endpoint])) as proxy, proxy.client() as client:
        client.send(post(length=5).replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n"))
        assert await client.head() == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert (await client.ask(b"hello")).status == 200
        assert (await client.ask(post(b"hello"))).status == 200


async def test_an_early_answer_reaches_a_client_that_is_still_uploading() -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
        await visit.rest()

    async with (
        ScriptedEndpoint(script, buffer_bytes=NARROW_BYTES) as endpoint,
        standing(shop([endpoint], policy=UNLIMITED)) as proxy,
        proxy.client(buffer_bytes=NARROW_BYTES) as client,
    ):
        client.send(post(b"x" * 1_000_000, length=50_000_000))
        response = await client.response()
        assert (response.status, response.body) == (403, b"no")
        assert response.fields[b"connection"] == b"close"
        assert await client.rest() == b""
        await until(lambda: not proxy.pools.open)


async def test_a_half_closed_client_gets_its_answer() -> None:
    go_on = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.head()
        await go_on.wait()
        await visit.send(OK)

    async with ScriptedEndpoint(script) as endpoint, standing(shop([endpoint])) as proxy, proxy.client() as client:
        client.send(GET)
        client.finish_sending()
        await until(lambda: endpoint.requests == 1)
        go_on.set()
        assert (await client.response()).body == b"hello"
        assert await client.rest() == b""


CUT_SHORT = [
    pytest.param(b"Content-Length: 50\r\n\r\n", b"hello", id="known length"),
    pytest.param(b"Transfer-Encoding: chunked\r\n\r\n", b"5\r\nhello\r\n", id="chunked"),
    pytest.param(b"Transfer-Encoding: chunked\r\n\r\n", b"5\r\nhello\r\n0\r\n", id="chunked, within the end"),
    pytest.param(b"Transfer-Encoding: chunked\r\n\r\n", b"5\r\nhello\r\nXYZ\r\n", id="chunked, malformed"),
]


@pytest.mark.parametrize(("fields", "body"), CUT_SHORT)
async def test_a_response_cut_short_aborts_the_client_and_never_ends_cleanly(fields: bytes, body: bytes) -> None:
    async with (
        ScriptedEndpoint(saying(b"HTTP/1.1 200 OK\r\n" + fields, body, then_close=True)) as endpoint,
        standing(shop([endpoint])) as proxy,
        proxy.client() as client,
    ):
        with pytest.raises(CUT):
            await client.ask(GET)
        assert endpoint.requests == 1


@pytest.mark.parametrize(("fields", "body"), CUT_SHORT)
async def test_a_client_that_knows_the_end_by_the_close_sees_a_reset(fields: bytes, body: bytes) -> None:
    async with (
        ScriptedEndpoint(saying(b"HTTP/1.1 200 OK\r\n" + fields, body, then_close=True)) as endpoint,
        standing(shop([endpoint])) as proxy,
        proxy.client() as client,
    ):
        client.send(GET_1_0)
        with pytest.raises(ConnectionError):
            await client.rest()


@pytest.mark.parametrize("request_head", [GET, GET_1_0])
async def test_a_response_until_close_that_falls_silent_never_ends_cleanly(request_head: bytes) -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(b"HTTP/1.1 200 OK\r\n\r\nhello")
        await visit.rest()

    async with (
        ScriptedEndpoint(script) as endpoint,
        standing(shop([endpoint], policy=RoutePolicy(read_timeout_seconds=0.1))) as proxy,
        proxy.client() as client,
    ):
        client.send(request_head)
        received = b""
        with pytest.raises(ConnectionError):
            while data := await client.reader.read(1000):
                received += data
        assert not received.endswith(b"0\r\n\r\n")


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 4\r\n\r\nhello",
        b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        b"not HTTP at all\r\n\r\n",
    ],
)
async def test_an_invalid_response_is_a_502_of_ours_and_its_connection_is_not_used_again(response: bytes) -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(response if visit.number == 0 else OK)
        await visit.rest()

    async with ScriptedEndpoint(script) as endpoint, standing(shop([endpoint])) as proxy, proxy.client() as client:
        refused = await client.ask(GET)
        assert refused.status == 502
        assert refused.fields[b"connection"] == b"close"
        assert b"hello" not in refused.body
        async with proxy.client() as another:
            assert (await another.ask(GET)).body == b"hello"
        assert len(endpoint.visits) == 2


async def test_surplus_bytes_never_become_the_next_answer() -> None:
    script = answering(OK + b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\npoisoned")
    async with ScriptedEndpoint(script) as endpoint, standing(shop([endpoint])) as proxy, proxy.client() as client:
        for _ in range(3):
            assert (await client.ask(GET)).body == b"hello"
        assert len(endpoint.visits) == 3


async def test_a_cookie_of_ours_goes_with_the_response_and_is_said_once() -> None:
    """The client of a route with affinity is told its endpoint, and from then on brings the cookie itself."""
    async with ScriptedEndpoint(saying(OK)) as endpoint:
        sticky = builders.route(affinity=Affinity(cookie="route"))
        model = shop([endpoint], hosts=[builders.host("shop.test", sticky)])
        async with standing(model) as proxy, proxy.client() as client:
            cookie = (await client.ask(GET)).fields[b"set-cookie"].partition(b";")[0]
            assert cookie.startswith(b"route=")
            again = await client.ask(GET.replace(b"\r\n\r\n", b"\r\nCookie: " + cookie + b"\r\n\r\n"))
            assert b"set-cookie" not in again.fields
