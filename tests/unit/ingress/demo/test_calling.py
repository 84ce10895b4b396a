"""The demo's gRPC client: one connection for all calls, a new one after GOAWAY, and what counts as failed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from balancer.http.messages import Fields
from ingress.demo.answering import framed
from ingress.demo.calling import CallClient, CallTraffic
from ingress.demo.traffic import Tally
from tests.fakes.http2_endpoints import Call, Http2Endpoint
from tests.fakes.sockets import until

pytestmark = pytest.mark.large

HEAD: Fields = ((b":status", b"200"), (b"content-type", b"application/grpc"))
OK: Fields = ((b"grpc-status", b"0"),)
ZONES = {b"from a": "zone-a"}


def answer(call: Call, *, fields: Fields = HEAD, message: bytes = b"from a", trailers: Fields = OK) -> None:
    call.answer(framed(message), fields=fields, trailers=trailers)


@pytest.fixture
async def endpoint() -> AsyncIterator[Http2Endpoint]:
    async with Http2Endpoint(answer) as made:
        yield made


@pytest.fixture
async def traffic(endpoint: Http2Endpoint) -> AsyncIterator[CallTraffic]:
    client = CallClient("127.0.0.1", endpoint.port, seconds=10.0)
    yield CallTraffic(client, host="demo.example", zones=ZONES)
    client.close()


async def test_exactly_the_calls_asked_for_are_made_on_one_connection(
    endpoint: Http2Endpoint, traffic: CallTraffic
) -> None:
    tally = Tally()

    await traffic.send(101, to=tally)

    assert (tally.requests, tally.failed, tally.by_zone) == (101, 0, {"zone-a": 101})
    assert (len(endpoint.calls), len(endpoint.connections)) == (101, 1)
    call = endpoint.calls[0]
    assert call.body == framed(b"") == bytes(5)
    assert call.fields[b":authority"] == b"demo.example"
    assert (call.fields[b"content-type"], call.fields[b"te"]) == (b"application/grpc", b"trailers")


@pytest.mark.parametrize(
    "said",
    [
        {"trailers": ((b"grpc-status", b"14"),)},
        {"fields": ((b":status", b"503"),)},
        {"message": b"from nowhere"},
        {"trailers": ()},
    ],
    ids=["a status", "an error of HTTP", "another message", "no status"],
)
async def test_an_answer_that_is_not_the_expected_one_failed(
    endpoint: Http2Endpoint, traffic: CallTraffic, said: dict[str, object]
) -> None:
    endpoint.answer = lambda call: answer(call, **said)  # type: ignore[arg-type]
    tally = Tally()

    await traffic.send(5, to=tally)

    assert (tally.requests, tally.failed, tally.by_zone) == (5, 5, {})


async def test_a_call_that_is_reset_or_cut_off_failed(endpoint: Http2Endpoint, traffic: CallTraffic) -> None:
    for end in (lambda call: call.reset(8), lambda call: call.connection.transport.abort()):
        endpoint.answer = end
        assert await traffic.answering_zone() is None
    endpoint.answer = answer
    assert await traffic.answering_zone() == "zone-a"


async def test_calls_under_way_end_on_their_connection_after_goaway_and_later_ones_take_a_new_one(
    endpoint: Http2Endpoint, traffic: CallTraffic
) -> None:
    endpoint.answer = None
    begun = asyncio.create_task(traffic.answering_zone())
    await until(lambda: bool(endpoint.calls) and endpoint.calls[0].is_whole)
    endpoint.connections[0].goaway()
    endpoint.answer = answer

    await until_second_connection(endpoint, traffic)
    assert not begun.done()
    answer(endpoint.calls[0])

    assert await begun == "zone-a"
    await until(lambda: endpoint.connections[0].is_closed)
    assert endpoint.open_connections == 1


async def until_second_connection(endpoint: Http2Endpoint, traffic: CallTraffic) -> None:
    """The GOAWAY may still be on its way when the next call is made."""
    async with asyncio.timeout(10):
        while len(endpoint.connections) < 2:
            assert await traffic.answering_zone() in ("zone-a", None)


async def test_a_call_to_nobody_failed(endpoint: Http2Endpoint, traffic: CallTraffic) -> None:
    await endpoint.__aexit__()

    assert await traffic.answering_zone() is None
    await endpoint.__aenter__()
