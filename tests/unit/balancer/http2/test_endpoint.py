"""Connections to endpoints over HTTP/2, on real sockets: streams do not mix, and what went wrong names its cause."""

from __future__ import annotations

import asyncio
import gc
import ssl

import pytest
import trustme

from balancer.errors import ErrorKind
from balancer.http2.endpoint import STREAMS_MOST, Http2EndpointConnection
from balancer.http2.events import CANCEL, INTERNAL_ERROR, REFUSED_STREAM
from balancer.model.handshakes import Handshake
from balancer.model.settings import ProxySettings
from balancer.runtime.garbage import not_searching
from tests.fakes.http2_endpoints import Call, Http2Endpoint, Served
from tests.fakes.sockets import PATIENCE_SECONDS, until
from tests.features.http2.frames import settings
from tests.unit.balancer.http2.sharing import Bed, Taker, bed, begun, post

pytestmark = pytest.mark.large

_STREAMS = 3  # SETTINGS_MAX_CONCURRENT_STREAMS


async def test_a_request_and_its_response_pass_whole() -> None:
    async with bed() as made:
        taker, call = await begun(made)
        call.answer(b"world", trailers=((b"x-sum", b"5"),))
        await taker.end()
        assert call.fields[b":method"] == b"POST"
        assert call.fields[b":scheme"] == b"http"
        assert call.body == b"hello"
        assert taker.head is not None
        assert (taker.head.status, taker.body, taker.trailers) == (200, b"world", ((b"x-sum", b"5"),))


async def test_a_head_that_is_the_whole_response() -> None:
    async with bed() as made:
        taker, call = await begun(made)
        call.answer()
        await taker.end()
        assert taker.head is not None
        assert (taker.head.body_bytes, taker.body, taker.trailers) == (0, b"", ())


async def test_interim_responses_come_first() -> None:
    async with bed() as made:
        taker, call = await begun(made)
        call.interim(((b":status", b"103"), (b"link", b"</a>")))
        call.answer(b"x")
        await taker.end()
        assert taker.interims == [103]
        assert taker.body == b"x"


async def test_too_many_interim_responses_are_an_invalid_response() -> None:
    async with bed() as made:
        taker, call = await begun(made)
        for _ in range(9):
            call.interim(((b":status", b"103"),))
        await taker.end()
        assert (taker.failure, len(taker.interims)) == (ErrorKind.INVALID_RESPONSE, 8)
        await until(lambda: call.resets == [CANCEL])


@pytest.mark.parametrize("is_answered", [False, True])
@pytest.mark.parametrize(
    ("code", "kind"),
    [(REFUSED_STREAM, ErrorKind.ENDPOINT_REFUSED), (INTERNAL_ERROR, ErrorKind.ENDPOINT_CLOSED),
     (CANCEL, ErrorKind.ENDPOINT_CLOSED), (0, ErrorKind.ENDPOINT_CLOSED)],
)  # fmt: skip
async def test_a_reset_is_never_the_end_of_a_response(is_answered: bool, code: int, kind: ErrorKind) -> None:
    async with bed() as made:
        taker, call = await begun(made)
        if is_answered:
            call.answer(b"wor", ends=False)
            await until(lambda: taker.body == b"wor")
        call.reset(code)
        await taker.end()
        assert taker.failure is kind
        other, call = await begun(made)
        call.answer(b"x")
        await other.end()
        assert other.failure is None


async def test_a_connection_that_is_cut_fails_every_stream() -> None:
    async with bed() as made:
        takers = [(await begun(made))[0] for _ in range(3)]
        made.endpoint.connections[0].transport.abort()
        for taker in takers:
            await taker.end()
        assert {taker.failure for taker in takers} == {ErrorKind.ENDPOINT_CLOSED}
        await until(lambda: not made.pools.open)


async def test_a_closed_connection_is_freed_without_a_search_for_cycles() -> None:
    """A search may come ten minutes later, and a connection holds some 20 KiB."""
    gc.collect()
    with not_searching():
        async with bed() as made:
            taker, _ = await begun(made)
            assert alive()
            made.endpoint.connections[0].transport.abort()
            await taker.end()
            await until(lambda: not made.pools.open)
            del taker
            await until(lambda: not alive())


def alive() -> int:
    """How many connections to endpoints there are."""
    return sum(isinstance(each, Http2EndpointConnection) for each in gc.get_objects())


async def test_streams_above_the_last_of_a_goaway_were_not_processed_and_the_others_go_on() -> None:
    async with bed() as made:
        first, call = await begun(made)
        made.endpoint.connections[0].goaway()
        late = await made.begin(b"hello")  # it crosses the GOAWAY
        await late.end()
        assert late.failure is ErrorKind.ENDPOINT_REFUSED
        call.answer(b"x")
        await first.end()
        assert first.failure is None
        await until(lambda: not made.pools.open)


async def test_nothing_but_http2_is_an_invalid_response() -> None:
    async with bed() as made:
        taker, call = await begun(made)
        call.connection.transport.write(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10)
        await taker.end()
        assert taker.failure is ErrorKind.INVALID_RESPONSE
        await until(lambda: not made.pools.open)


async def test_a_body_waits_for_the_window_of_its_endpoint() -> None:
    async with bed(takes_bodies=False) as made:
        taker, call = await begun(made, body=None)
        stream = taker.stream
        stream.send(b"x" * 200_000)
        await until(lambda: taker.pauses == 1 and len(call.body) >= 65_535)
        call.give_back()
        await until(lambda: len(call.body) > 100_000)
        call.body = b""
        call.connection.engine.received(call.stream, 0)
        made.endpoint.takes_bodies = True
        call.connection.engine.received(call.stream, 65_535)
        call.connection.flush()
        await until(lambda: taker.pauses == 0)
        stream.finish(())
        await until(lambda: call.is_whole)


async def test_a_response_that_is_held_stops_its_endpoint_and_no_other_stream() -> None:
    async with bed() as made:
        held, call = await begun(made)
        call.answer(b"x" * 1_000_000, ends=False)
        held.stream.hold()
        await until(lambda: held.size >= 60_000)
        other, small = await begun(made)
        small.answer(b"small")
        await other.end()
        assert held.size <= 65_535
        held.stream.resume()
        await until(lambda: held.size == 1_000_000)


async def test_a_request_that_is_given_up_is_reset_and_its_window_is_not_lost() -> None:
    async def give_one_up() -> None:
        taker, call = await begun(made)
        call.answer(b"x" * 70_000, ends=False)
        taker.stream.hold()
        await until(lambda: taker.size == 65_535)
        taker.stream.reset()
        taker.stream.release()
        await until(lambda: call.resets == [CANCEL])

    async with bed() as made:
        for _ in range(140):  # together more than the connection's window
            await give_one_up()
        taker, call = await begun(made)
        call.answer(b"x" * 1_000_000)
        await until(lambda: taker.size == 1_000_000)
        assert len(made.endpoint.connections) == 1


async def test_an_early_answer_ends_the_request() -> None:
    async with bed() as made:
        taker, call = await begun(made, body=None)
        call.answer(b"no")
        await taker.end()
        await until(lambda: call.resets == [CANCEL])
        assert len(made.pools.open) == 1


async def test_an_early_answer_leaves_no_stream_whose_body_waits_for_a_window() -> None:
    """The endpoint is done with it and opens no window, and nothing else would end it, nor let the connection idle."""
    async with bed(takes_bodies=False) as made:
        taker = await made.begin(None)
        taker.stream.send(bytes(200_000))
        taker.stream.finish(())
        await until(lambda: len(made.endpoint.calls) == 1 and len(made.endpoint.calls[0].body) == 65_535)
        (call,) = made.endpoint.calls
        call.answer(b"no")
        await taker.end()
        await until(lambda: call.resets == [CANCEL])
        (connection,) = made.connections
        await until(lambda: connection.is_idle)


async def test_a_request_that_an_endpoint_takes_no_more_is_refused_before_its_head_has_left() -> None:
    """It would wait until the endpoint takes more, and then a reset would end nothing."""
    async with bed() as made:
        first, _ = await begun(made)
        (connection,) = made.connections
        late = await made.begin(b"hello")
        connection.data_received(settings([(_STREAMS, 1)]))  # before the end of the turn, which writes the head
        assert late.failure is ErrorKind.ENDPOINT_REFUSED
        assert connection.streams == 1
        assert first.failure is None


async def test_after_a_refusal_a_connection_gets_no_more_than_its_endpoint_takes_in_all() -> None:
    async with bed() as made:
        taker, call = await begun(made)
        (connection,) = made.connections
        connection.data_received(settings([(_STREAMS, 0)]))
        call.reset(REFUSED_STREAM)
        await taker.end()
        assert connection.room == 0


async def test_streams_of_a_connection_do_not_mix() -> None:
    def echo(call: Call) -> None:
        asyncio.get_running_loop().call_soon(call.answer, call.body)

    async with bed(echo) as made:
        bodies = [b"%d" % number * (number * 37 % 5000 + 1) for number in range(STREAMS_MOST)]
        takers = await asyncio.gather(*(made.begin(body) for body in bodies))
        for taker, body in zip(takers, bodies, strict=True):
            await taker.end()
            assert (taker.size, taker.body) == (len(body), body[-1000:])


async def test_a_silent_connection_gets_no_further_requests_once_one_was_given_up() -> None:
    async with bed() as made:
        taker, _ = await begun(made)
        (connection,) = made.connections
        connection.given_up(connection.now() - 5.0)
        assert connection.room > 0  # it has spoken since
        connection.pulse.silent_seconds = 0.0
        taker.stream.reset()
        taker.stream.release()
        assert connection.room == 0
        await until(lambda: not made.pools.open)


async def test_a_long_call_is_kept_alive_by_a_ping() -> None:
    async with bed() as made:
        taker, call = await begun(made)
        (connection,) = made.connections
        connection.pulse.ping_after_seconds = 0.0
        connection.expire()
        assert connection.pulse.is_asked
        connection.pulse.ping_after_seconds = 1000.0
        await until(lambda: not connection.pulse.is_asked)  # the answer came
        connection.expire()
        assert connection.deadline > connection.now() + 500.0
        call.answer(b"late")
        await taker.end()
        assert taker.body == b"late"


async def test_a_peer_that_does_not_answer_a_ping_is_gone() -> None:
    async with bed() as made:
        taker, _ = await begun(made)
        (connection,) = made.connections
        connection.pulse.ping_after_seconds = connection.pulse.ping_answer_seconds = 0.1
        made.endpoint.is_mute = True
        connection.expire()
        await taker.end()
        assert taker.failure is ErrorKind.ENDPOINT_TIMEOUT
        await until(lambda: not made.pools.open)


async def test_a_peer_that_says_no_more_and_reads_no_more_is_cut() -> None:
    async with bed() as made:
        first, _ = await begun(made, body=None)
        (connection,) = made.connections
        takers = [first, *await made.fill(connection)]
        made.endpoint.connections[0].transport.write_eof()
        for taker in takers:
            await taker.end()
        await until(lambda: not made.pools.open)


async def test_over_tls_the_end_of_an_idle_connection_is_no_error() -> None:
    loop, told = asyncio.get_running_loop(), list[str]()
    loop.set_exception_handler(lambda _, context: told.append(context["message"]))
    authority = trustme.CA(key_type=trustme.KeyType.ECDSA)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("cart.test").configure_cert(context)
    context.set_alpn_protocols(["h2"])
    endpoint = Http2Endpoint(lambda call: call.answer(b"x"))
    async with await loop.create_server(lambda: Served(endpoint), "127.0.0.1", 0, ssl=context) as server:
        endpoint.port = server.sockets[0].getsockname()[1]
        made = Bed(endpoint, ProxySettings())
        pool = made.pools.shared(made.member, Handshake(True, "cart.test", authority.cert_pem.bytes()))
        stream = await pool.connect(PATIENCE_SECONDS)
        taker = Taker(stream)
        stream.begin(taker, post(b""))
        await taker.end()
        made.connections[0].end_soon()
        await until(lambda: not made.pools.open)
        made.deadlines.stop()
    assert told == []


async def test_a_peer_that_does_not_even_read_the_goodbye_is_cut() -> None:
    async with bed() as made:
        idle, _ = await begun(made, body=None)
        (connection,) = made.connections
        for taker in (idle, *await made.fill(connection)):
            taker.take_back()
        await until(lambda: not connection.streams)
        connection.end_soon()
        await until(lambda: not made.pools.open)
