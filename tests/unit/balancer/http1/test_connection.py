"""The client side on real sockets: requests come one by one, bodies stream, and ends are what they seem."""

from __future__ import annotations

import asyncio

import pytest

from balancer.errors import ErrorKind, Refusal
from tests.fakes.clients import RawClient
from tests.fakes.sockets import settled, until
from tests.unit.balancer.http1.listening import (
    CHUNKED_POST,
    GET,
    NARROW_BYTES,
    POST,
    Listener,
    Taker,
    next_request,
    stream_of,
)


async def test_requests_come_one_by_one_in_order_however_many_arrive_at_once() -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection = await listener.opened.get()
        client.send(b"".join(b"GET /%d HTTP/1.1\r\nHost: a\r\n\r\n" % number for number in range(50)))
        for number in range(50):
            request = await next_request(connection)
            assert request is not None
            assert request.target == b"/%d" % number
        assert connection.requests == 50
        client.finish_sending()
        assert await next_request(connection) is None


async def test_the_peer_is_told_without_port() -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection = await listener.opened.get()
        client.send(GET)
        assert await next_request(connection) is not None
        assert stream_of(connection).origin.peer == "127.0.0.1"


async def test_a_client_that_leaves_has_no_next_request_even_if_some_had_come() -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection = await listener.opened.get()
        client.send(GET + GET + GET)
        assert await next_request(connection) is not None
        client.reset()
        await until(lambda: connection.closed)
        assert await next_request(connection) is None


async def test_what_waits_in_the_kernel_is_known_before_it_is_read() -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection = await listener.opened.get()
        assert not connection.has_unread()
        client.send(GET)  # the kernel has it at once, and the loop no turn before it is asked
        assert connection.has_unread()
        assert await next_request(connection) is not None
        assert not connection.has_unread()


async def test_a_head_cut_short_by_the_end_is_no_request() -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection = await listener.opened.get()
        client.send(GET[:-2])
        client.finish_sending()
        assert await next_request(connection) is None


@pytest.mark.parametrize(
    ("sent", "kind"),
    [
        (b"GET / HTTP/1.1\n", ErrorKind.BAD_REQUEST),
        (b"GET / HTTP/1.1\r\n\r\n", ErrorKind.BAD_REQUEST),
        (b"GET /" + b"a" * 9000, ErrorKind.TARGET_TOO_LONG),
        (b"GET / HTTP/1.1\r\n" + b"A: a\r\n" * 6000, ErrorKind.HEAD_TOO_LARGE),
        (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"A: a\r\n" * 101 + b"\r\n", ErrorKind.HEAD_TOO_LARGE),
        (b"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", ErrorKind.METHOD_NOT_ALLOWED),
    ],
)
async def test_bad_heads_are_refused(sent: bytes, kind: ErrorKind) -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection = await listener.opened.get()
        client.send(sent)
        with pytest.raises(Refusal) as refusal:
            await next_request(connection)
        assert refusal.value.kind is kind


async def test_a_body_of_known_length_streams_and_the_next_request_follows_it() -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection, taker = await listener.opened.get(), Taker()
        client.send(POST + b"he")
        request = await next_request(connection)
        assert request is not None
        stream_of(connection).attach(taker)
        stream_of(connection).start_body()
        assert taker.body == b"he"
        client.send(b"llo" + GET)
        await taker.until_ended()
        stream_of(connection).detach()
        assert (taker.body, taker.trailers) == (b"hello", ())
        following = await next_request(connection)
        assert following is not None
        assert following.method == b"GET"


async def test_a_chunked_body_streams_decoded_with_its_trailers_and_the_next_request_follows_it() -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection, taker = await listener.opened.get(), Taker()
        client.send(CHUNKED_POST + b"5\r\nhello\r\n1")
        request = await next_request(connection)
        assert request is not None
        assert request.body_bytes is None
        stream_of(connection).attach(taker)
        stream_of(connection).start_body()
        client.send(b"\r\n!\r\n0\r\nX-Sum: 1\r\n\r\n" + GET)
        await taker.until_ended()
        stream_of(connection).detach()
        assert (taker.body, taker.trailers) == (b"hello!", ((b"X-Sum", b"1"),))
        assert await next_request(connection) is not None


@pytest.mark.parametrize(
    "sent", [POST + b"hell", CHUNKED_POST + b"5\r\nhello\r\n", CHUNKED_POST, CHUNKED_POST + b"0\r\n"]
)
@pytest.mark.parametrize("end_comes_first", [True, False])
async def test_a_body_cut_short_is_refused_never_ended(sent: bytes, end_comes_first: bool) -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection, taker = await listener.opened.get(), Taker()
        client.send(sent)
        if end_comes_first:
            client.finish_sending()
        request = await next_request(connection)
        assert request is not None
        stream_of(connection).attach(taker)
        stream_of(connection).start_body()
        if not end_comes_first:
            client.finish_sending()
        await taker.until_ended()
        assert taker.refusal is ErrorKind.BAD_REQUEST
        assert taker.trailers is None


async def test_a_malformed_chunk_is_refused() -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection, taker = await listener.opened.get(), Taker()
        client.send(CHUNKED_POST)
        assert await next_request(connection) is not None
        stream_of(connection).attach(taker)
        stream_of(connection).start_body()
        client.send(b"XYZ\r\n")
        await taker.until_ended()
        assert taker.refusal is ErrorKind.BAD_REQUEST


async def test_a_half_closed_client_still_gets_its_answer() -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection = await listener.opened.get()
        client.send(GET)
        client.finish_sending()
        assert await next_request(connection) is not None
        stream_of(connection).send(b"answer")
        assert await next_request(connection) is None
        connection.close()
        assert await client.rest() == b"answer"


# More than is decoded in one turn of the loop, and less than is read ahead of its turn.
@pytest.mark.parametrize(("chunk", "chunks"), [(b"x" * 40_000, 1), (b"x", 8_000)])
async def test_a_chunked_body_that_came_whole_with_its_end_is_taken_whole(chunk: bytes, chunks: int) -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection, taker = await listener.opened.get(), Taker()
        client.send(CHUNKED_POST + b"%x\r\n%b\r\n" % (len(chunk), chunk) * chunks + b"0\r\n\r\n")
        client.finish_sending()
        assert await next_request(connection) is not None
        await settled(lambda: client.unsent_bytes)  # the end has come as well, before anybody takes the body
        stream_of(connection).attach(taker)
        stream_of(connection).start_body()
        await taker.until_ended()
        assert (taker.refusal, taker.trailers) == (None, ())
        assert taker.size == len(chunk) * chunks
        stream_of(connection).detach()
        assert await next_request(connection) is None


async def test_an_expected_end_waits_for_the_answer_to_leave_but_not_for_the_client_to_close() -> None:
    async with Listener() as listener, RawClient(listener.port, buffer_bytes=NARROW_BYTES) as client:
        connection = await listener.opened.get()
        client.send(GET)
        assert await next_request(connection) is not None
        stream_of(connection).send(b"x" * 1_000_000)
        connection.close(expected=True)
        assert not connection.closed
        assert await client.rest() == b"x" * 1_000_000
        await until(lambda: connection.closed)


async def test_an_end_is_not_expected_by_a_client_that_has_said_more() -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection = await listener.opened.get()
        client.send(GET + GET)
        assert await next_request(connection) is not None
        stream_of(connection).send(b"answer")
        connection.close(expected=True)
        assert await client.rest() == b"answer"
        assert not connection.closed


async def test_a_refused_client_that_goes_on_sending_still_reads_its_answer() -> None:
    async with Listener() as listener, RawClient(listener.port, buffer_bytes=NARROW_BYTES) as client:
        connection = await listener.opened.get()
        client.send(POST + b"x" * 1_000_000)
        assert await next_request(connection) is not None
        stream_of(connection).send(b"refused")
        connection.close()
        assert await client.rest() == b"refused"
        client.finish_sending()
        await until(lambda: connection.closed)


async def test_an_abort_is_never_a_clean_end() -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection = await listener.opened.get()
        client.send(GET)
        assert await next_request(connection) is not None
        stream_of(connection).send(b"HTTP/1.0 200 OK\r\n\r\nhalf a bo")
        await client.reader.readexactly(28)
        connection.abort()
        with pytest.raises(ConnectionResetError):
            await client.rest()


async def test_idle_is_said_between_requests_only() -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection = await listener.opened.get()
        waiting = asyncio.ensure_future(next_request(connection))
        await until(lambda: connection.idle)
        client.send(GET[:5])
        await until(lambda: not connection.idle)
        client.send(GET[5:])
        assert await waiting is not None
        assert not connection.idle
