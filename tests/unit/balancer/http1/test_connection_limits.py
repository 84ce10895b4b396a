"""The client side on real sockets: nothing grows without bound, and nobody is waited for without end."""

from __future__ import annotations

import asyncio

import pytest

from balancer.errors import ErrorKind, Refusal
from balancer.model.settings import Http2Settings
from tests.fakes.clients import RawClient
from tests.fakes.sockets import PATIENCE_SECONDS, settled, until
from tests.unit.balancer.http1.listening import (
    GET,
    NARROW_BYTES,
    Listener,
    Taker,
    next_request,
    stream_of,
    until_told_of_the_end,
)


async def test_a_body_that_piled_up_before_it_was_wanted_arrives_whole() -> None:
    size = 2_000_000
    async with Listener() as listener, RawClient(listener.port, buffer_bytes=NARROW_BYTES) as client:
        connection, taker = await listener.opened.get(), Taker()
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size)
        assert await next_request(connection) is not None
        client.send(b"x" * size)
        await settled(lambda: client.unsent_bytes)
        stream_of(connection).attach(taker)
        stream_of(connection).start_body()
        await taker.until_ended()
        assert taker.size == size


@pytest.mark.large
async def test_a_body_of_tiny_chunks_is_taken_in_turns_and_the_next_request_follows_it() -> None:
    count = 60_000
    async with Listener() as listener, RawClient(listener.port) as client:
        connection, taker = await listener.opened.get(), Taker()
        head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        client.send(head + b"1\r\nx\r\n" * count + b"0\r\n\r\n" + GET)
        assert await next_request(connection) is not None
        stream_of(connection).attach(taker)
        stream_of(connection).start_body()
        assert taker.size < count  # what has come at once is not taken at once
        await taker.until_ended()
        assert taker.size == count
        stream_of(connection).detach()
        following = await next_request(connection)
        assert following is not None
        assert following.method == b"GET"


async def test_what_nobody_takes_is_not_read_for_ever() -> None:
    size = 8_000_000
    async with Listener() as listener, RawClient(listener.port, buffer_bytes=NARROW_BYTES) as client:
        connection = await listener.opened.get()
        client.send(GET)
        assert await next_request(connection) is not None
        client.send(GET * (size // len(GET)))
        unsent = await settled(lambda: client.unsent_bytes)
        assert size - unsent < 768 * 1024


async def test_a_client_that_does_not_read_its_answers_gets_no_further_request_served() -> None:
    async with Listener() as listener, RawClient(listener.port, buffer_bytes=NARROW_BYTES) as client:
        connection = await listener.opened.get()
        client.send(GET + GET)
        assert await next_request(connection) is not None
        stream_of(connection).send(b"x" * 4_000_000)
        following = asyncio.ensure_future(next_request(connection))
        await settled(following.done)
        assert not following.done()
        assert len(await client.reader.readexactly(4_000_000)) == 4_000_000
        assert (await following) is not None


@pytest.mark.parametrize("came_before", [b"", GET[:5]], ids=["nothing", "a part of the head"])
async def test_a_client_that_stops_reading_once_its_request_is_over_gets_no_further_one_served(
    came_before: bytes,
) -> None:
    """As when the end of an answer leaves after all sockets were served."""
    async with Listener() as listener, RawClient(listener.port) as client:
        connection = await listener.opened.get()
        client.send(GET + came_before)
        assert await next_request(connection) is not None
        following = asyncio.ensure_future(next_request(connection))
        await asyncio.sleep(0)  # it asks
        assert connection.idle is not bool(came_before)
        connection.pause_writing()
        client.send(GET[len(came_before) :])
        await settled(following.done)
        assert not following.done()
        connection.resume_writing()
        assert (await following) is not None


async def test_what_waits_for_a_client_counts_until_it_reads_or_leaves() -> None:
    async with Listener() as listener, RawClient(listener.port, buffer_bytes=NARROW_BYTES) as client:
        connection = await listener.opened.get()
        client.send(GET)
        assert await next_request(connection) is not None
        stream_of(connection).send(b"x" * 4_000_000)
        assert 2_000_000 < listener.unread.total <= 4_000_000
        assert len(await client.reader.readexactly(4_000_000)) == 4_000_000
        await until(lambda: listener.unread.total == 0)
        stream_of(connection).send(b"x" * 4_000_000)
        connection.abort()
        await until(lambda: connection.closed)
        assert listener.unread.total == 0


async def test_a_client_for_whom_too_much_waits_is_cut_and_its_request_hears_why() -> None:
    few = Http2Settings(unread_bytes=1_000_000)
    async with Listener(http2=few) as listener, RawClient(listener.port, buffer_bytes=NARROW_BYTES) as client:
        connection = await listener.opened.get()
        client.send(GET)
        assert await next_request(connection) is not None
        taker = Taker()
        stream_of(connection).attach(taker)
        stream_of(connection).send(b"x" * 4_000_000)
        await until(lambda: connection.closed)
        assert taker.lost_as is ErrorKind.UNREAD
        assert listener.unread.total == 0
        with pytest.raises(ConnectionResetError):
            await client.rest()


async def test_reading_is_paused_and_resumed_on_demand() -> None:
    size = 4_000_000
    async with Listener() as listener, RawClient(listener.port, buffer_bytes=NARROW_BYTES) as client:
        connection, taker = await listener.opened.get(), Taker()
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size)
        assert await next_request(connection) is not None
        stream_of(connection).attach(taker)
        stream_of(connection).start_body()
        connection.pause_reading()
        client.send(b"x" * size)
        await settled(lambda: client.unsent_bytes)
        assert taker.size == 0
        connection.resume_reading()
        await taker.until_ended()
        assert taker.size == size


async def test_pipelined_requests_wait_in_the_kernel_beyond_a_few() -> None:
    request = b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 1_000 + b"\r\n\r\n"
    async with Listener() as listener, RawClient(listener.port, buffer_bytes=NARROW_BYTES) as client:
        connection = await listener.opened.get()
        client.send(request * 4_000)
        assert await next_request(connection) is not None, "which nobody answers"
        await settled(lambda: client.unsent_bytes)
        assert client.unsent_bytes > 3_000 * len(request)


async def test_a_short_connection_has_one_place_in_the_wheel() -> None:
    """It lingers for longer than the test may take: the wheel would look once that is over."""
    async with (
        Listener(linger_seconds=30, client_header_timeout_seconds=60) as listener,
        RawClient(listener.port) as client,
    ):
        connection = await listener.opened.get()
        first = asyncio.ensure_future(next_request(connection))
        await settled(first.done)
        place, looked_at = connection.place, connection.next_look
        assert place is not None
        client.send(GET)
        assert await first is not None
        connection.close()
        assert (connection.place, connection.next_look) == (place, looked_at)


@pytest.mark.large
async def test_a_head_has_its_whole_time() -> None:
    async with (
        Listener(linger_seconds=0.1, client_header_timeout_seconds=60) as listener,
        RawClient(listener.port) as client,
    ):
        connection = await listener.opened.get()
        request = asyncio.ensure_future(next_request(connection))
        await settled(request.done)
        await listener.after(0.3)  # longer than the wheel takes to look the first time
        assert not request.done()
        client.send(GET)
        assert await request is not None


async def test_a_refused_client_that_never_closes_is_cut() -> None:
    async with Listener(linger_seconds=0.1) as listener, RawClient(listener.port) as client:
        connection = await listener.opened.get()
        client.send(b"GET / HTTP/1.1\r\nHost:")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(next_request(connection), 0.05)
        connection.close()
        assert await client.rest() == b""
        await until(lambda: connection.closed)


@pytest.mark.large
async def test_a_slow_reader_gets_the_whole_of_its_last_answer() -> None:
    # without a length and without chunks (HTTP/1.0) a cut would look like a clean end
    size = 3_000_000
    async with Listener(linger_seconds=0.1) as listener, RawClient(listener.port, buffer_bytes=NARROW_BYTES) as client:
        connection = await listener.opened.get()
        client.send(GET)
        assert await next_request(connection) is not None
        stream_of(connection).send(b"x" * size)
        connection.close()
        await listener.after(0.3)
        assert len(await client.rest()) == size


async def test_the_end_of_a_last_answer_can_be_waited_for() -> None:
    size = 3_000_000
    async with Listener() as listener, RawClient(listener.port, buffer_bytes=NARROW_BYTES) as client:
        connection = await listener.opened.get()
        client.send(GET)
        assert await next_request(connection) is not None
        stream_of(connection).send(b"x" * size)
        connection.close()
        ended = asyncio.ensure_future(until_told_of_the_end(connection))
        await settled(ended.done)
        assert not ended.done()
        assert len(await client.rest()) == size
        client.finish_sending()
        await asyncio.wait_for(ended, PATIENCE_SECONDS)


async def test_a_silent_client_is_dropped_after_the_time_for_a_head() -> None:
    async with Listener(client_header_timeout_seconds=0.1) as listener, RawClient(listener.port) as client:
        connection = await listener.opened.get()
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await next_request(connection) is None
        assert await client.rest() == b""


@pytest.mark.large
async def test_a_head_that_does_not_come_in_time_is_refused_and_dripping_does_not_help() -> None:
    async with Listener(client_header_timeout_seconds=0.3) as listener, RawClient(listener.port) as client:
        connection = await listener.opened.get()

        async def drip() -> None:
            for byte in GET * 100:
                client.send(bytes((byte,)))
                await asyncio.sleep(0.05)

        dripping = asyncio.ensure_future(drip())
        with pytest.raises(Refusal) as refusal:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await next_request(connection)
        dripping.cancel()
        assert refusal.value.kind is ErrorKind.REQUEST_TIMEOUT


async def test_a_deadline_counts_even_when_a_byte_comes_in_the_same_turn() -> None:
    async with Listener() as listener, RawClient(listener.port):
        connection = await listener.opened.get()
        waiting = asyncio.ensure_future(next_request(connection))
        await asyncio.sleep(0)
        connection.data_received(b"GET / H")
        await asyncio.sleep(0)
        connection.data_received(b"T")  # wakes the task, which has not run yet when the deadline passes
        connection.expire()
        with pytest.raises(Refusal) as refusal:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await waiting
        assert refusal.value.kind is ErrorKind.REQUEST_TIMEOUT


async def test_a_request_that_comes_with_the_end_of_the_keep_alive_time_is_served() -> None:
    async with Listener() as listener, RawClient(listener.port):
        connection = await listener.opened.get()
        waiting = asyncio.ensure_future(next_request(connection))
        await asyncio.sleep(0)
        connection.data_received(GET)
        connection.expire()
        assert await waiting is not None


async def test_an_idle_connection_is_closed_cleanly_after_the_keep_alive_time() -> None:
    async with Listener(keep_alive_seconds=0.1) as listener, RawClient(listener.port) as client:
        connection = await listener.opened.get()
        client.send(GET)
        assert await next_request(connection) is not None
        stream_of(connection).send(b"answer")
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await next_request(connection) is None
        assert await client.rest() == b"answer"


async def test_who_takes_the_body_hears_of_the_loss() -> None:
    async with Listener() as listener, RawClient(listener.port) as client:
        connection, taker = await listener.opened.get(), Taker()
        client.send(GET)
        assert await next_request(connection) is not None
        stream_of(connection).attach(taker)
        client.reset()
        await until(lambda: taker.lost)
