"""The request under way: what a response looks like on the wire, and whether the connection goes on after it."""

from __future__ import annotations

import pytest

from balancer.errors import ErrorKind
from balancer.http.edits import HeadEdit
from balancer.http.messages import ResponseHead
from balancer.http1.connection import ClientConnection
from balancer.http1.request_stream import Http1RequestStream
from tests.fakes.clients import RawClient
from tests.fakes.sockets import until
from tests.unit.balancer.http1.listening import CHUNKED_POST, GET, POST, Listener, Taker, next_request, stream_of

OLD_GET = b"GET / HTTP/1.0\r\nHost: a\r\n"
NO_EDIT = HeadEdit()
TWO_BYTES, UNKNOWN = ResponseHead(200, (), 2, b""), ResponseHead(200, (), None, b"")


async def asked(connection: ClientConnection, client: RawClient, request: bytes) -> None:
    client.send(request)
    assert await next_request(connection) is not None


async def answered(client: RawClient, connection: ClientConnection, head: ResponseHead = TWO_BYTES) -> bytes:
    """The bytes of a response to a request that came, with `ok` as its body."""
    stream = stream_of(connection)
    stream.respond(head, NO_EDIT, b"o", None)
    stream.send(b"k")
    stream.finish(())
    stream.release()
    received = await client.head()
    return received if connection.idle else received + await client.rest()


@pytest.mark.parametrize(
    ("request_bytes", "head", "written"),
    [
        (GET, TWO_BYTES, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"),
        (GET, UNKNOWN, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        (
            OLD_GET + b"Connection: keep-alive\r\n\r\n",
            TWO_BYTES,
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\n",
        ),
    ],
)
async def test_a_response_whose_end_can_be_told_lets_the_connection_go_on(
    request_bytes: bytes, head: ResponseHead, written: bytes
) -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection = await listener.opened.get()
        await asked(connection, client, request_bytes)
        assert await answered(client, connection, head) == written


async def test_a_chunked_response_has_a_chunk_for_each_piece_and_trailers_at_its_end() -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection = await listener.opened.get()
        await asked(connection, client, GET)
        stream = stream_of(connection)
        stream.respond(UNKNOWN, NO_EDIT, b"he", None)
        stream.send(b"llo")
        stream.finish(((b"X-Sum", b"1"),))
        await client.head()
        body = b"2\r\nhe\r\n3\r\nllo\r\n0\r\nX-Sum: 1\r\n\r\n"
        assert await client.reader.readexactly(len(body)) == body


@pytest.mark.parametrize(
    ("request_bytes", "head", "marks"),
    [
        (GET[:-2] + b"Connection: close\r\n\r\n", TWO_BYTES, ""),
        (OLD_GET + b"\r\n", TWO_BYTES, ""),
        (OLD_GET + b"Connection: keep-alive\r\n\r\n", UNKNOWN, ""),
        (POST, TWO_BYTES, ""),
        (CHUNKED_POST + b"5\r\nhe", TWO_BYTES, ""),
        (GET, TWO_BYTES, "last"),
        (GET, TWO_BYTES, "ending"),
    ],
)
async def test_what_leaves_the_next_request_in_doubt_ends_the_connection(
    request_bytes: bytes, head: ResponseHead, marks: str
) -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection = await listener.opened.get()
        await asked(connection, client, request_bytes)
        if marks == "last":
            stream_of(connection).last = True
        if marks == "ending":
            connection.end_soon()
        received = await answered(client, connection, head)
        assert b"\r\nConnection: close\r\n" in received
        assert received.endswith(b"\r\n\r\nok")


async def test_a_body_that_was_taken_whole_lets_the_connection_go_on() -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection, taker = await listener.opened.get(), Taker()
        await asked(connection, client, POST + b"hello")
        stream_of(connection).attach(taker)
        stream_of(connection).start_body()
        await taker.until_ended()
        assert await answered(client, connection) == b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"


@pytest.mark.parametrize("limit", [1, 2])
async def test_the_last_request_that_the_settings_allow_ends_the_connection(limit: int) -> None:
    async with Listener(keep_alive_requests=limit) as listener, RawClient(listener.port) as client:
        connection = await listener.opened.get()
        for number in range(1, limit + 1):
            await asked(connection, client, GET)
            received = await answered(client, connection)
            assert (b"Connection: close" in received) is (number == limit)
            if number < limit:
                await client.reader.readexactly(2)


async def test_a_response_that_is_reset_is_never_a_whole_one() -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection = await listener.opened.get()
        await asked(connection, client, OLD_GET + b"\r\n")
        stream = stream_of(connection)
        stream.respond(UNKNOWN, NO_EDIT, b"half", None)
        await client.head()
        stream.reset()
        stream.release()
        with pytest.raises(ConnectionResetError):
            await client.rest()


async def test_once_the_client_is_gone_every_call_does_nothing() -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection, taker = await listener.opened.get(), Taker()
        await asked(connection, client, POST)
        stream = stream_of(connection)
        stream.attach(taker)
        client.reset()
        await taker.until_ended()
        assert stream.closed
        assert taker.lost
        for call in (stream.start_body, stream.hold, stream.resume, stream.reset, stream.detach):
            call()
        stream.respond(TWO_BYTES, NO_EDIT, b"ok", ())
        stream.switch(ResponseHead(101, (), 0, b"websocket"), NO_EDIT, b"")
        stream.release()


async def test_bytes_of_a_tunnel_pass_as_they_come_until_it_ends() -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection, taker = await listener.opened.get(), Taker()
        await asked(connection, client, GET)
        stream = stream_of(connection)
        assert isinstance(stream, Http1RequestStream)
        assert not stream.take(b"of nobody")
        stream.attach(taker)
        assert not stream.take(b"of no body")
        stream.switch(ResponseHead(101, (), 0, b"websocket"), NO_EDIT, b"")
        client.send(b"ab")
        await until(lambda: taker.body == b"ab")
        assert stream.take(b"c")
        stream.end_tunnel()
        assert (taker.body, taker.refusal) == (b"abc", ErrorKind.BAD_REQUEST)
        assert not stream.take(b"d")
        assert taker.body == b"abc"
