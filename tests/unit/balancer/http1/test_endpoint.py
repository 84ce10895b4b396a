"""The endpoint side on real sockets: responses stream to the byte, and a connection in doubt is never used again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from balancer.errors import ErrorKind
from balancer.http.consumers import ResponseConsumer
from balancer.http.messages import ResponseHead, Trailers
from balancer.http1.endpoint import EndpointConnection
from tests.fakes.endpoints import Script, ScriptedEndpoint, Visit, answering
from tests.fakes.sockets import PATIENCE_SECONDS, settled, until
from tests.messages import Unkept, outgoing

HEAD = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
NARROW_BYTES = 32 * 1024


class Taker(ResponseConsumer):
    """Takes one response and notes what it hears."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.head: ResponseHead | None = None
        self.body = b""
        self.size = 0
        self.trailers: Trailers | None = None
        self.failure: ErrorKind | None = None
        self.pauses = 0
        self.ended = asyncio.Event()

    def interim(self, response: ResponseHead) -> None:
        self.statuses.append(response.status)

    def switched(self, response: ResponseHead, data: bytes) -> None:
        assert self.head is None
        self.head = response
        self.statuses.append(response.status)
        self.response_data(data)

    def response_started(self, response: ResponseHead, data: bytes, trailers: Trailers | None) -> None:
        assert self.head is None
        self.head = response
        self.statuses.append(response.status)
        self.response_data(data)
        if trailers is not None:
            self.response_end(trailers)

    def response_data(self, data: bytes) -> None:
        assert not self.ended.is_set()
        self.size += len(data)
        self.body = (self.body + data)[-1000:]

    def response_end(self, trailers: Trailers) -> None:
        assert not self.ended.is_set()
        self.trailers = trailers
        self.ended.set()

    def endpoint_failed(self, kind: ErrorKind) -> None:
        assert not self.ended.is_set()
        self.failure = kind
        self.ended.set()

    def endpoint_paused(self) -> None:
        self.pauses += 1

    def endpoint_resumed(self) -> None:
        self.pauses -= 1


@asynccontextmanager
async def connected(script: Script, *, buffer_bytes: int | None = None) -> AsyncIterator[EndpointConnection]:
    async with ScriptedEndpoint(script, buffer_bytes=buffer_bytes) as endpoint:
        loop = asyncio.get_running_loop()
        keeper = Unkept()
        _, connection = await loop.create_connection(lambda: EndpointConnection(keeper), "127.0.0.1", endpoint.port)
        yield connection
        connection.reset()
        await until(lambda: connection.closed)
        assert keeper.lost_connections == [connection]


async def exchanged(connection: EndpointConnection, *, method: bytes = b"GET") -> Taker:
    """One request and the whole of its response, or its failure."""
    taker = Taker()
    connection.begin(taker, outgoing(method))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await taker.ended.wait()
    connection.release()
    return taker


def saying(*parts: bytes, close: bool = False) -> Script:
    """A script that answers one request with `parts`, each in a write of its own, then waits or closes."""

    async def script(visit: Visit) -> None:
        await visit.head()
        for part in parts:
            await visit.send(part)
        if not close:
            await visit.rest()

    return script


def whole_and_cut(response: bytes) -> list[tuple[bytes, ...]]:
    return [(response,), (response[:-3], response[-3:]), tuple(response[at : at + 1] for at in range(len(response)))]


@pytest.mark.parametrize("parts", whole_and_cut(OK))
async def test_a_response_of_known_length_ends_with_its_last_byte(parts: tuple[bytes, ...]) -> None:
    async with connected(saying(*parts)) as connection:
        taker = await exchanged(connection)
        assert (taker.statuses, taker.body, taker.trailers) == ([200], b"hello", ())
        assert connection.reusable


@pytest.mark.parametrize(
    "parts",
    whole_and_cut(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;a=b\r\nlo\r\n0\r\nX-Sum: 1\r\n\r\n"
    ),
)
async def test_a_chunked_response_is_decoded_and_keeps_its_trailers(parts: tuple[bytes, ...]) -> None:
    async with connected(saying(*parts)) as connection:
        taker = await exchanged(connection)
        assert (taker.body, taker.trailers) == (b"hello", ((b"X-Sum", b"1"),))
        assert connection.reusable


@pytest.mark.parametrize("parts", whole_and_cut(b"HTTP/1.1 200 OK\r\n\r\nhello"))
async def test_a_response_until_close_ends_with_a_clean_close(parts: tuple[bytes, ...]) -> None:
    async with connected(saying(*parts, close=True)) as connection:
        taker = await exchanged(connection)
        assert (taker.body, taker.trailers) == (b"hello", ())
        assert not connection.reusable


async def test_a_response_until_close_that_is_reset_has_failed() -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(b"HTTP/1.1 200 OK\r\n\r\nhel")
        await visit.head()
        visit.reset()

    async with connected(script) as connection:
        taker = Taker()
        connection.begin(taker, outgoing())
        await until(lambda: taker.size == 3)
        connection.send(HEAD)
        await taker.ended.wait()
        assert (taker.failure, taker.trailers) == (ErrorKind.ENDPOINT_CLOSED, None)


async def test_a_response_until_close_that_we_cut_ourselves_has_not_ended() -> None:
    async with connected(saying(b"HTTP/1.1 200 OK\r\n\r\nhel")) as connection:
        taker = Taker()
        connection.begin(taker, outgoing())
        await until(lambda: taker.size == 3)
        connection.reset()
        await taker.ended.wait()
        assert (taker.failure, taker.trailers) == (ErrorKind.ENDPOINT_CLOSED, None)


@pytest.mark.parametrize(
    ("method", "response"),
    [
        (b"HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
        (b"HEAD", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        (b"GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
        (b"GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
        (b"GET", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ],
)
async def test_a_response_without_a_body_ends_with_its_head(method: bytes, response: bytes) -> None:
    async with connected(saying(response)) as connection:
        taker = await exchanged(connection, method=method)
        assert (taker.size, taker.trailers) == (0, ())
        assert connection.reusable


async def test_one_connection_carries_many_exchanges() -> None:
    async with connected(answering(OK)) as connection:
        for _ in range(20):
            assert (await exchanged(connection)).body == b"hello"
        assert connection.requests == 20
        assert connection.reusable


async def test_interim_responses_pass_before_the_final_one() -> None:
    interims = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 8
    async with connected(saying(interims + OK)) as connection:
        taker = await exchanged(connection)
        assert taker.statuses == [103] * 8 + [200]
        assert connection.reusable


@pytest.mark.parametrize("fields", [b"Connection: close\r\n", b"Connection: x, Close\r\n"])
async def test_a_connection_that_the_endpoint_ends_is_not_reusable(fields: bytes) -> None:
    async with connected(saying(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + fields + b"\r\n")) as connection:
        await exchanged(connection)
        assert not connection.reusable


async def test_a_connection_closed_while_idle_is_noticed() -> None:
    async with connected(saying(OK, close=True)) as connection:
        await exchanged(connection)
        await until(lambda: connection.closed)
        assert not connection.reusable


async def test_reading_can_be_held_back() -> None:
    size = 600_000
    sent = 0

    async def script(visit: Visit) -> None:
        nonlocal sent
        await visit.head()
        await visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        while sent < size:
            await visit.send(b"x" * 10_000)
            sent += 10_000

    async with connected(script, buffer_bytes=NARROW_BYTES) as connection:
        taker = Taker()
        connection.begin(taker, outgoing())
        connection.hold()
        await settled(lambda: sent)
        assert taker.size == 0
        assert sent < size
        connection.resume()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await taker.ended.wait()
        assert taker.size == size


async def test_an_endpoint_that_does_not_read_pauses_who_writes() -> None:
    go_on = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.head()
        await go_on.wait()
        await visit.exactly(8_000_000)
        await visit.send(OK)
        await visit.rest()

    async with connected(script, buffer_bytes=NARROW_BYTES) as connection:
        taker = Taker()
        connection.begin(taker, outgoing(b"PUT", body_bytes=8_000_000))
        connection.send(b"x" * 8_000_000)
        assert taker.pauses == 1
        assert connection.writing_paused
        go_on.set()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await taker.ended.wait()
        assert taker.pauses == 0


async def test_an_endpoint_that_says_no_more_and_reads_no_more_amid_a_request_is_not_waited_for() -> None:
    is_over = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.head()
        visit.finish_sending()
        await is_over.wait()

    async with connected(script, buffer_bytes=NARROW_BYTES) as connection:
        taker = Taker()
        connection.begin(taker, outgoing(b"POST", body_bytes=8 << 20))
        connection.send(bytes(8 << 20))
        async with asyncio.timeout(PATIENCE_SECONDS):
            await taker.ended.wait()
        assert taker.failure is ErrorKind.ENDPOINT_CLOSED
        is_over.set()


async def test_a_connection_released_with_a_request_unsent_is_not_reusable() -> None:
    async with connected(saying(OK), buffer_bytes=NARROW_BYTES) as connection:
        taker = Taker()
        connection.begin(taker, outgoing(b"PUT", body_bytes=8_000_000))
        connection.send(b"x" * 8_000_000)
        connection.release()
        assert not connection.reusable


async def test_only_an_idle_connection_expires() -> None:
    async with connected(saying(OK)) as connection:
        taker = Taker()
        connection.begin(taker, outgoing())
        connection.expire()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await taker.ended.wait()
        assert taker.body == b"hello"
        connection.release()
        connection.expire()
        await until(lambda: connection.closed)


async def test_an_upgrade_that_was_offered_becomes_a_tunnel_until_the_endpoint_closes() -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n\x81")
        assert await visit.exactly(4) == b"ping"
        await visit.send(b"pong\r\n\r\n")

    async with connected(script) as connection:
        taker = Taker()
        connection.begin(taker, outgoing(upgrade=b"websocket"))
        await until(lambda: taker.size == 1)
        connection.send(b"ping")
        async with asyncio.timeout(PATIENCE_SECONDS):
            await taker.ended.wait()
        assert (taker.statuses, taker.body, taker.trailers) == ([101], b"\x81pong\r\n\r\n", ())
        assert not connection.reusable


@pytest.mark.parametrize("protocol", [b"h2c", b"websocket, h2c", b""])
async def test_an_upgrade_to_another_protocol_than_offered_is_invalid(protocol: bytes) -> None:
    response = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + protocol + b"\r\n\r\n"
    async with connected(saying(response)) as connection:
        taker = Taker()
        connection.begin(taker, outgoing(upgrade=b"websocket"))
        async with asyncio.timeout(PATIENCE_SECONDS):
            await taker.ended.wait()
        assert taker.failure is ErrorKind.INVALID_RESPONSE


async def test_a_refused_upgrade_is_an_ordinary_response() -> None:
    async with connected(saying(OK)) as connection:
        taker = Taker()
        connection.begin(taker, outgoing(upgrade=b"websocket"))
        async with asyncio.timeout(PATIENCE_SECONDS):
            await taker.ended.wait()
        connection.release()
        assert (taker.statuses, taker.body) == ([200], b"hello")
        assert connection.reusable
