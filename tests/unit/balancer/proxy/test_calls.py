"""gRPC calls and requests over HTTP/2 as the proxy treats them: over streams in memory."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from balancer.errors import ErrorKind
from balancer.http.messages import HTTP_1_1, HTTP_2_0, ResponseHead, Trailers
from balancer.metrics.definitions import GRPC_RESPONSES
from balancer.model.publication import RoutingModel
from tests.fakes.sockets import until
from tests.fakes.streams import MemoryEndpointStream, MemoryStream
from tests.messages import request_head
from tests.unit.balancer.proxy.test_streams_in_memory import Stage, all_over, model, staged

pytestmark = pytest.mark.large

CALL = ((b"content-type", b"application/grpc"), (b"te", b"trailers"))


def serving(**changes: Any) -> RoutingModel:
    """The same as `model`, with endpoints that speak HTTP/2."""
    made = model(**changes)
    return msgspec.structs.replace(
        made, backends=tuple(msgspec.structs.replace(each, http2=True) for each in made.backends)
    )


async def call(stage: Stage, *fields: tuple[bytes, bytes], body: bytes = b"") -> MemoryStream:
    """A call whose body is `body`, or has not ended yet if that is empty."""
    stream = stage.ask(request_head(b"POST", body_bytes=len(body) or None, fields=CALL + fields))
    await until(lambda: stream.wants_body or stream.releases > 0)
    if body and not stream.releases:
        stream.say(body, ends=True)
    return stream


def answer(stream: MemoryEndpointStream, trailers: Trailers, *, data: bytes = b"") -> None:
    """The endpoint answers with `data` and trailers, or without data with a head that is the whole response."""
    consumer = stream.consumer
    assert consumer is not None
    fields = ((b"content-type", b"application/grpc"),)
    if data:
        consumer.response_started(ResponseHead(200, fields, None, b""), data, None)
        consumer.response_end(trailers)
    else:
        consumer.response_started(ResponseHead(200, fields + trailers, 0, b""), b"", ())


async def arrived(stage: Stage, count: int) -> None:
    """Wait until the endpoints have got a whole request so many times."""
    await until(lambda: len(stage.pools.streams) == count and stage.pools.streams[-1].is_whole)


@pytest.mark.parametrize("data", [b"", b"a message"])
@pytest.mark.parametrize(("status", "logged"), [(b"0", 0), (b"5", 5), (b"200", 200), (b"nonsense", None)])
async def test_the_status_of_a_call_is_in_log_and_metrics(data: bytes, status: bytes, logged: int | None) -> None:
    async with staged(serving()) as stage:
        stage.pools.answer = lambda stream: None
        stream = await call(stage, body=b"question")
        await until(lambda: bool(stage.pools.streams))
        answer(stage.pools.streams[0], ((b"grpc-status", status),), data=data)
        await all_over([stream])
        (line,) = stage.ledger.log()
        assert (line["status"], line.get("grpc_status")) == (200, logged)
        label = "other" if logged == 200 else str(logged)
        counted = {} if logged is None else {("shop", "web", "cart", label): 1}
        assert stage.ledger.metric(GRPC_RESPONSES) == counted


async def test_unavailable_counts_against_the_endpoint() -> None:
    """One of two that take turns. A client that meets nothing else could provoke it."""
    async with staged(serving()) as stage:

        def by_turns(stream: MemoryEndpointStream) -> None:
            answer(stream, ((b"grpc-status", b"14" if len(stage.pools.streams) % 2 else b"0"),))

        stage.pools.answer = by_turns
        streams = [await call(stage, body=b"question") for _ in range(20)]
        await all_over(streams)
        (runtime,) = stage.live.view.backends.values()
        assert runtime.health.ejected() == 1


@pytest.mark.parametrize(
    ("protocol", "fields", "said", "http2"),
    [
        (HTTP_2_0, CALL, True, True),
        (HTTP_2_0, CALL, False, False),
        (HTTP_1_1, CALL, True, False),
        (HTTP_2_0, ((b"content-type", b"application/json"),), True, False),
    ],
)
async def test_a_route_may_send_calls_of_http_2_clients_on_in_http_2(
    protocol: str, fields: tuple[tuple[bytes, bytes], ...], said: bool, http2: bool
) -> None:
    async with staged(model(policy={"calls_in_http2": said})) as stage:
        stage.pools.answer = lambda stream: answer(stream, ((b"grpc-status", b"0"),))
        head = msgspec.structs.replace(request_head(b"POST", body_bytes=1, fields=fields), protocol=protocol)
        stream = stage.ask(head)
        await until(lambda: stream.wants_body or stream.releases > 0)
        if not stream.releases:
            stream.say(b"a", ends=True)
        await all_over([stream])
        assert set(stage.pools.asked_in_http2) == {http2}


@pytest.mark.parametrize("status", [b"0", b"2", b"13"])
async def test_no_other_status_does(status: bytes) -> None:
    async with staged(serving()) as stage:
        stage.pools.answer = lambda stream: answer(stream, ((b"grpc-status", status),))
        await all_over([await call(stage, body=b"question") for _ in range(20)])
        (runtime,) = stage.live.view.backends.values()
        assert runtime.health.ejected() == 0


async def test_an_error_of_the_proxy_is_a_status_of_grpc() -> None:
    async with staged(serving(endpoints=())) as stage:
        stream = await call(stage, body=b"question")
        await all_over([stream])
        assert (stream.status, stream.body, stream.trailers) == (200, b"", ())
        (line,) = stage.ledger.log()
        assert (line["status"], line["grpc_status"], line["error"]) == (200, 14, "no_endpoint")
        assert stage.ledger.metric(GRPC_RESPONSES) == {("shop", "web", "cart", "14"): 1}


async def test_a_call_ends_when_its_time_is_over_and_nobody_is_to_blame() -> None:
    async with staged(serving(policy={"tries": 3})) as stage:
        stage.pools.answer = lambda stream: None
        streams = [await call(stage, (b"grpc-timeout", b"100m"), body=b"question") for _ in range(20)]
        await all_over(streams)
        assert {(line["error"], line["grpc_status"], len(line["endpoints"])) for line in stage.ledger.log()} == {
            ("call_timeout", 4, 1)
        }
        (runtime,) = stage.live.view.backends.values()
        assert runtime.health.ejected() == 0


async def test_the_time_of_a_call_bounds_no_later_one() -> None:
    async with staged(serving()) as stage:
        stage.pools.answer = lambda stream: None
        await all_over([await call(stage, (b"grpc-timeout", b"1m"), body=b"question")])
        stage.pools.answer = MemoryEndpointStream.respond
        stage.connection.server.request_came(later := MemoryStream(), request_head())
        await all_over([later])
        assert later.status == 200


async def test_what_was_not_processed_goes_to_the_same_endpoint_and_then_to_another() -> None:
    async with staged(serving(policy={"tries": 3})) as stage:
        stage.pools.answer = lambda stream: None
        stream = await call(stage, body=b"question")
        for number in range(3):
            await arrived(stage, number + 1)
            stage.pools.streams[number].fail(ErrorKind.ENDPOINT_REFUSED)
        await arrived(stage, 4)
        assert {each.sent for each in stage.pools.streams} == {b"question"}
        answer(stage.pools.streams[3], ((b"grpc-status", b"0"),), data=b"x")
        await all_over([stream])
        (line,) = stage.ledger.log()
        assert len(line["endpoints"]) == 2
        assert line["grpc_status"] == 0


async def test_what_may_have_been_processed_goes_nowhere_else() -> None:
    async with staged(serving(policy={"tries": 3})) as stage:
        stage.pools.answer = lambda stream: None
        stream = await call(stage, body=b"question")
        await until(lambda: bool(stage.pools.streams) and stage.pools.streams[0].is_whole)
        stage.pools.streams[0].fail(ErrorKind.ENDPOINT_CLOSED)
        await all_over([stream])
        assert len(stage.pools.streams) == 1


async def test_a_call_of_which_a_part_is_gone_goes_nowhere_else() -> None:
    async with staged(serving(policy={"tries": 3})) as stage:
        stage.pools.answer = lambda stream: None
        stream = await call(stage)
        await until(lambda: stream.wants_body)
        for _ in range(3):
            stream.say(b"m" * 30_000)
        stage.pools.streams[0].fail(ErrorKind.ENDPOINT_REFUSED)
        await all_over([stream])
        assert len(stage.pools.streams) == 1
        assert stage.ledger.log()[0]["error"] == "endpoint_refused"


async def test_a_call_that_was_answered_in_part_is_cut() -> None:
    async with staged(serving(policy={"tries": 3})) as stage:
        stage.pools.answer = lambda stream: stream.respond(data=b"a message", ends=False)
        stream = await call(stage, body=b"question")
        await until(lambda: bool(stage.pools.streams))
        stage.pools.streams[0].fail(ErrorKind.ENDPOINT_REFUSED)
        await all_over([stream])
        assert stream.is_reset
        assert len(stage.pools.streams) == 1
