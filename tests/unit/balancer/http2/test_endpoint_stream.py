"""One stream to an endpoint: what it says of the request, and what it makes of odd responses."""

from __future__ import annotations

import pytest

from balancer.errors import ErrorKind
from balancer.http.messages import Fields
from balancer.http2.frames import goaway_frame
from tests.fakes.sockets import until
from tests.unit.balancer.http2.sharing import Taker, bed, post

GOODBYE = goaway_frame(1, 0)


async def test_trailers_of_a_request_end_it() -> None:
    async with bed() as made:
        taker = await made.begin(None)
        taker.stream.send(b"hello")
        taker.stream.finish(((b"X-Sum", b"5"), (b"Connection", b"close")))
        await until(lambda: len(made.endpoint.calls) == 1 and made.endpoint.calls[0].is_whole)
        assert made.endpoint.calls[0].trailers == ((b"x-sum", b"5"),)


@pytest.mark.parametrize("trailers", [(), ((b"x-sum", b"5"),)])
async def test_the_end_of_a_body_may_come_with_its_last_piece(trailers: Fields) -> None:
    async with bed() as made:
        taker = await made.begin(None)
        taker.stream.send(b"hel")
        taker.stream.finish(trailers, b"lo")
        await until(lambda: len(made.endpoint.calls) == 1 and made.endpoint.calls[0].is_whole)
        assert (made.endpoint.calls[0].body, made.endpoint.calls[0].trailers) == (b"hello", trailers)


async def test_a_last_piece_that_finds_no_window_waits_with_the_end() -> None:
    async with bed() as made:
        taker = await made.begin(None)
        taker.stream.finish((), bytes(200_000))
        assert taker.pauses == 1
        await until(lambda: len(made.endpoint.calls) == 1 and made.endpoint.calls[0].is_whole)
        assert len(made.endpoint.calls[0].body) == 200_000
        await until(lambda: taker.pauses == 0)


async def test_a_body_of_known_length_says_so() -> None:
    async with bed() as made:
        await made.begin(b"hello")
        await until(lambda: len(made.endpoint.calls) == 1)
        assert made.endpoint.calls[0].fields[b"content-length"] == b"5"


@pytest.mark.parametrize(
    "fields",
    [((b":status", b"1000"),), ((b":status", b"200"), (b"connection", b"close")),
     ((b":status", b"200"), (b"content-length", b"10")), ((b":status", b"101"),)],
)  # fmt: skip
async def test_a_response_that_cannot_be_believed_is_invalid(fields: Fields) -> None:
    async with bed() as made:
        taker = await made.begin(b"hello")
        await until(lambda: len(made.endpoint.calls) == 1)
        made.endpoint.calls[0].answer(b"hello", fields=fields)
        await taker.end()
        assert taker.failure is ErrorKind.INVALID_RESPONSE
        assert (await made.begin(b"x")).failure is None  # the connection goes on, or another is made


@pytest.mark.parametrize("last_words", [GOODBYE, b"x" * 100], ids=["GOAWAY", "garbage"])
async def test_a_request_whose_connection_has_just_ended_is_refused_with_its_body(last_words: bytes) -> None:
    """The exchange hears of it in the next turn of the loop, and sends what it has of the body before."""
    async with bed() as made:
        first = await made.begin(b"hello")
        stream = await made.stream()
        await until(lambda: len(made.endpoint.calls) == 1)
        made.endpoint.connections[0].transport.write(last_words)
        await until(lambda: made.connections[0].ending if made.connections else first.failure is not None)
        taker = Taker(stream)
        stream.begin(taker, post(b"hello"))
        stream.send(b"hello")
        stream.finish(())
        await taker.end()
        assert taker.failure in (ErrorKind.ENDPOINT_REFUSED, ErrorKind.ENDPOINT_CLOSED)


async def test_a_stream_leads_to_no_tunnel() -> None:
    async with bed() as made:
        taker = await made.begin(b"hello")
        taker.stream.finish_writing()
        await until(lambda: len(made.endpoint.calls) == 1)
        made.endpoint.calls[0].answer(b"x")
        await taker.end()
        assert taker.body == b"x"
