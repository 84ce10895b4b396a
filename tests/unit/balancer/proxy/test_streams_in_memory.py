"""Serving, attempts and exchange over streams in memory, many on one connection: nothing of HTTP/1 is needed."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import RequestHead
from balancer.live import LiveTable
from balancer.metrics.definitions import RESPONSES
from balancer.model.client_tls import ClientCertificates, ClientDemand, ClientVerification
from balancer.model.external_auth import ExternalAuth
from balancer.model.gates import BlockedClients, SourceRanges
from balancer.model.limits import FlightLimit, RateLimit
from balancer.model.policies import RoutePolicy
from balancer.model.publication import RoutingModel
from balancer.picking.healthlog import HealthLog
from balancer.proxy.accounting import Accounting
from balancer.proxy.answers import ANSWERS
from balancer.proxy.forwarder import Forwarder
from balancer.proxy.serving import Proxy
from balancer.runtime.deadlines import Deadlines
from tests import builders
from tests.fakes.sockets import until
from tests.fakes.streams import MemoryConnection, MemoryEndpointStream, MemoryPools, MemoryStream
from tests.messages import request_head
from tests.unit.balancer.proxy.standing import Ledger

STREAMS = 50
REFUSED = [
    ErrorKind.BAD_REQUEST, ErrorKind.REQUEST_TIMEOUT, ErrorKind.TARGET_TOO_LONG, ErrorKind.HEAD_TOO_LARGE,
    ErrorKind.METHOD_NOT_ALLOWED, ErrorKind.EXPECTATION_FAILED, ErrorKind.LOOP,
]  # fmt: skip
CONNECTING: dict[ErrorKind, BaseException] = {
    ErrorKind.CONNECT_REFUSED: ConnectionRefusedError(),
    ErrorKind.CONNECT_TIMEOUT: TimeoutError(),
    ErrorKind.ENDPOINT_TLS: ssl.SSLError(),
}
BY_ENDPOINT = [ErrorKind.ENDPOINT_CLOSED, ErrorKind.ENDPOINT_REFUSED, ErrorKind.INVALID_RESPONSE]
BY_MODEL = [
    ErrorKind.NO_ROUTE, ErrorKind.NO_BACKEND, ErrorKind.BACKEND_INVALID, ErrorKind.PATH_CLOSED, ErrorKind.NO_ENDPOINT,
    ErrorKind.OVERLOADED,
    ErrorKind.SOURCE_DENIED, ErrorKind.AUTH_UNAVAILABLE, ErrorKind.CLIENT_BLOCKED, ErrorKind.RATE_LIMITED,
    ErrorKind.CONNECTIONS_LIMITED, ErrorKind.CERTIFICATE_REFUSED, ErrorKind.CERTIFICATE_DENIED,
]  # fmt: skip
ONE_BY_ONE = {ErrorKind.BODY_TOO_LARGE, ErrorKind.CLIENT_LEFT, ErrorKind.ENDPOINT_TIMEOUT}


class Stage:
    """A proxy with one connection from a client and one to its endpoint; each carries many streams."""

    def __init__(self, ledger: Ledger, model: RoutingModel) -> None:
        self.ledger = ledger
        self.deadlines = Deadlines(asyncio.get_running_loop())
        self.live = LiveTable(lambda _: 0)
        self.live.swap(builders.publication(1, model))
        self.pools = MemoryPools(MemoryEndpointStream.respond)
        self.connection = MemoryConnection()
        self.ended: list[object] = []
        proxy = Proxy(
            live=self.live,
            forwarder=Forwarder(pools=self.pools, recorder=ledger.recorder, health_log=HealthLog()),
            accounting=Accounting(recorder=ledger.recorder, access_log=ledger.access_log),
            deadlines=self.deadlines,
        )
        proxy.serve(self.connection, self.ended.append)

    def ask(self, request: RequestHead | None = None) -> MemoryStream:
        stream = MemoryStream()
        self.connection.server.request_came(stream, request or request_head())
        return stream

    def refuse(self, kind: ErrorKind) -> MemoryStream:
        stream = MemoryStream()
        self.connection.server.request_refused(stream, Refusal(kind, "as a test wants it"))
        return stream

    def log(self) -> list[tuple[int, str]]:
        """Status and error of each line."""
        return [(line["status"], line.get("error", "")) for line in self.ledger.log()]


def model(*, policy: dict[str, Any] | None = None, **changes: Any) -> RoutingModel:
    """The host `a` with one route to one backend of two endpoints; `changes` are of the route."""
    route = builders.route(to=changes.pop("to", "shop/cart:80"), policy=RoutePolicy(**{"tries": 1, **(policy or {})}))
    backend = builders.backend(of=builders.endpoints("ab"))
    for name in ("max_concurrency", "endpoints"):
        if name in changes:
            backend = msgspec.structs.replace(backend, **{name: changes.pop(name)})
    return builders.model(backend, hosts=[builders.host("a", msgspec.structs.replace(route, **changes))])


@asynccontextmanager
async def staged(serving: RoutingModel | None = None) -> AsyncIterator[Stage]:
    ledger = Ledger()
    stage = Stage(ledger, serving or model())
    try:
        yield stage
    finally:
        stage.connection.server.connection_closed()
        await until(lambda: len(stage.ended) == 1)
        stage.deadlines.stop()
        ledger.release()


async def all_over(streams: list[MemoryStream]) -> None:
    """Wait until each request is over; it must be over once."""
    await until(lambda: all(stream.releases for stream in streams))
    assert {stream.releases for stream in streams} == {1}


def leaves_its_kind(stage: Stage, kind: ErrorKind, streams: list[MemoryStream]) -> None:
    """Every client got the answer of the table, and log and metrics name the kind once for each."""
    status = ANSWERS[kind].status
    assert {stream.status for stream in streams} == {status}
    assert all(stream.trailers == () and stream.body for stream in streams)
    (responses,) = stage.ledger.metric(RESPONSES).items()
    assert responses[0][-2:] == (str(status), kind.value)
    assert responses[1] == len(streams)
    assert stage.log() == [(status, kind.value)] * len(streams)


def test_every_kind_of_the_table_is_tried_here() -> None:
    tried = {*REFUSED, *CONNECTING, *BY_ENDPOINT, *BY_MODEL, *ONE_BY_ONE}
    elsewhere = {ErrorKind.UNAUTHORIZED, ErrorKind.MISDIRECTED, ErrorKind.CALL_TIMEOUT, ErrorKind.ENDPOINT_SILENT}
    elsewhere.add(ErrorKind.HOOK_FAILED)
    assert tried | elsewhere == ANSWERS.keys()


async def test_a_body_waits_for_an_endpoint_that_takes_nothing_from_the_beginning() -> None:
    def takes_nothing(stream: MemoryEndpointStream) -> None:
        stream.writing_paused = True

    async with staged() as stage:
        stage.pools.answer = takes_nothing
        stream = stage.ask(request_head(b"POST", body_bytes=5))
        await until(lambda: stream.wants_body)
        (endpoint,) = stage.pools.streams
        held = [stream.is_held]
        assert endpoint.consumer is not None
        endpoint.writing_paused = False
        endpoint.consumer.endpoint_resumed()
        held.append(stream.is_held)
        assert held == [True, False]
        stream.say(b"hello", ends=True)
        endpoint.respond()
        assert (stream.status, endpoint.sent) == (200, b"hello")


async def test_streams_of_one_connection_are_answered_in_any_order() -> None:
    async with staged() as stage:
        stage.pools.answer = lambda stream: None
        streams = [stage.ask() for _ in range(STREAMS)]
        assert len(stage.pools.streams) == STREAMS
        for number, endpoint in reversed(list(enumerate(stage.pools.streams))):
            endpoint.respond(data=b"%d" % number)
            assert endpoint.releases == 1
        await all_over(streams)
        assert [stream.body for stream in streams] == [b"%d" % number for number in range(STREAMS)]
        assert stage.log() == [(200, "")] * STREAMS


@pytest.mark.parametrize("kind", REFUSED, ids=lambda kind: kind.value)
async def test_what_is_refused_before_it_is_a_request(kind: ErrorKind) -> None:
    async with staged() as stage:
        streams = [stage.refuse(kind) for _ in range(STREAMS)]
        await all_over(streams)
        leaves_its_kind(stage, kind, streams)


@pytest.mark.parametrize("kind", BY_MODEL, ids=lambda kind: kind.value)
async def test_what_the_model_lets_nobody_serve(kind: ErrorKind) -> None:
    demand = ClientDemand("shop.test", "shop/clients", "")
    optional = msgspec.structs.replace(demand, verification=ClientVerification.OPTIONAL)
    changes: dict[ErrorKind, dict[str, Any]] = {
        ErrorKind.CERTIFICATE_REFUSED: {"gates": (ClientCertificates(demand),)},
        ErrorKind.CERTIFICATE_DENIED: {"gates": (ClientCertificates(optional, subject_pattern="CN=alice"),)},
        ErrorKind.NO_BACKEND: {"to": None},
        ErrorKind.BACKEND_INVALID: {"branches": (builders.branch(None, error=ErrorKind.BACKEND_INVALID),)},
        ErrorKind.PATH_CLOSED: {"closed": True},
        ErrorKind.NO_ENDPOINT: {"endpoints": ()},
        ErrorKind.SOURCE_DENIED: {"gates": (SourceRanges(allowed=("10.0.0.0/8",)),)},
        ErrorKind.CLIENT_BLOCKED: {"gates": (BlockedClients(agents=("",)),)},
        ErrorKind.RATE_LIMITED: {"gates": (RateLimit("zone", ()),)},
        ErrorKind.CONNECTIONS_LIMITED: {"gates": (FlightLimit("zone", 1),)},
        ErrorKind.AUTH_UNAVAILABLE: {"gates": (ExternalAuth("http://auth.test/"),)},
        ErrorKind.OVERLOADED: {"max_concurrency": 1},
    }
    async with staged(model(**changes.get(kind, {}))) as stage:
        if kind is ErrorKind.OVERLOADED:
            stage.pools.answer = lambda stream: None
            stage.ask()
        asked = request_head()
        if kind is ErrorKind.NO_ROUTE:
            asked = msgspec.structs.replace(asked, host_name=b"other.test")
        streams = [stage.ask(asked) for _ in range(STREAMS)]
        await all_over(streams)
        leaves_its_kind(stage, kind, streams)


@pytest.mark.parametrize("kind", CONNECTING, ids=lambda kind: kind.value)
async def test_an_endpoint_that_cannot_be_reached(kind: ErrorKind) -> None:
    async with staged() as stage:
        stage.pools.is_shared, stage.pools.error = False, CONNECTING[kind]
        streams = [stage.ask() for _ in range(STREAMS)]
        await all_over(streams)
        leaves_its_kind(stage, kind, streams)


@pytest.mark.parametrize("kind", BY_ENDPOINT, ids=lambda kind: kind.value)
async def test_an_endpoint_that_does_not_answer_well(kind: ErrorKind) -> None:
    async with staged() as stage:
        stage.pools.is_shared = False
        stage.pools.answer = lambda stream: stream.fail(kind)
        streams = [stage.ask() for _ in range(STREAMS)]
        await all_over(streams)
        leaves_its_kind(stage, kind, streams)
        assert all(stream.is_reset and stream.releases == 1 for stream in stage.pools.streams)


async def test_an_endpoint_that_is_silent() -> None:
    async with staged(model(policy={"read_timeout_seconds": 0.1})) as stage:
        stage.pools.answer = lambda stream: None
        streams = [stage.ask() for _ in range(STREAMS)]
        await all_over(streams)
        leaves_its_kind(stage, ErrorKind.ENDPOINT_TIMEOUT, streams)


@pytest.mark.parametrize("body_bytes", [4, None])
async def test_a_body_over_its_limit(body_bytes: int | None) -> None:
    async with staged(model(policy={"max_body_bytes": 3})) as stage:
        stage.pools.answer = lambda stream: None
        streams = [stage.ask(request_head(b"PUT", body_bytes=body_bytes)) for _ in range(STREAMS)]
        for stream in streams:
            if body_bytes is None:
                stream.say(b"body")
        await all_over(streams)
        assert all(stream.last for stream in streams)
        leaves_its_kind(stage, ErrorKind.BODY_TOO_LARGE, streams)


async def test_a_client_that_takes_back_one_request_keeps_the_others() -> None:
    async with staged() as stage:
        stage.pools.answer = lambda stream: None
        leaving, staying = stage.ask(), stage.ask()
        leaving.leave()
        stage.pools.streams[1].respond()
        await all_over([leaving, staying])
        assert (leaving.status, staying.status) == (0, 200)
        assert [stream.is_reset for stream in stage.pools.streams] == [True, False]
        assert stage.log() == [(499, "client_left"), (200, "")]


async def test_a_client_that_was_paused_before_its_request_holds_the_endpoint_back() -> None:
    """Nobody says so again, and what the endpoint sends would wait in memory, however much it is."""
    async with staged() as stage:
        stage.pools.answer = lambda stream: None
        stream = MemoryStream()
        stream.writing_paused = True
        stage.connection.server.request_came(stream, request_head())
        (endpoint,) = stage.pools.streams
        endpoint.respond(200, b"hal", ends=False)
        was_held = endpoint.is_held
        stream.writing_paused = False
        assert stream.consumer is not None
        stream.consumer.client_resumed()
        assert (was_held, endpoint.is_held) == (True, False)
        assert endpoint.consumer is not None
        endpoint.consumer.response_data(b"f")
        endpoint.consumer.response_end(())
        await all_over([stream])
        assert stream.body == b"half"


async def test_a_response_that_is_cut_resets_its_stream_alone() -> None:
    async with staged() as stage:
        stage.pools.answer = lambda stream: stream.respond(206, b"hal", ends=False)
        cut, whole = stage.ask(), stage.ask()
        stage.pools.streams[0].fail(ErrorKind.ENDPOINT_CLOSED)
        consumer = stage.pools.streams[1].consumer
        assert consumer is not None
        consumer.response_data(b"f")
        consumer.response_end(())
        await all_over([cut, whole])
        assert (cut.is_reset, whole.is_reset) == (True, False)
        assert (cut.trailers, whole.trailers, whole.body) == (None, (), b"half")
        assert stage.log() == [(206, "endpoint_closed"), (206, "")]


async def test_a_mistake_of_ours_resets_its_stream_alone(caplog: pytest.LogCaptureFixture) -> None:
    def fails(stream: MemoryEndpointStream) -> None:
        raise RuntimeError("a mistake")

    async with staged() as stage:
        stage.pools.answer = fails
        broken = stage.ask()
        stage.pools.answer = MemoryEndpointStream.respond
        served = stage.ask()
        await all_over([broken, served])
        assert (broken.is_reset, broken.status) == (True, 0)
        assert (served.is_reset, served.status) == (False, 200)
        assert stage.log() == [(500, "internal"), (200, "")]
        assert "a request failed" in caplog.text


async def test_another_endpoint_gets_the_request_of_one_stream_with_its_body() -> None:
    async with staged(model(policy={"tries": 2})) as stage:
        stage.pools.is_shared = False
        stage.pools.answer = lambda stream: None
        stream = stage.ask(request_head(b"PUT", body_bytes=5))
        await until(lambda: stream.wants_body)
        stream.say(b"hello", ends=True)
        stage.pools.streams[0].fail(ErrorKind.ENDPOINT_CLOSED)
        await until(lambda: len(stage.pools.streams) == 2 and stage.pools.streams[1].is_whole)
        assert [each.sent for each in stage.pools.streams] == [b"hello", b"hello"]
        stage.pools.streams[1].respond()
        await all_over([stream])
        assert stream.status == 200


async def test_each_side_holds_the_other_back_on_its_own_stream_only() -> None:
    async with staged() as stage:
        stage.pools.answer = lambda stream: None
        streams = [stage.ask(request_head(b"PUT", body_bytes=5)) for _ in range(2)]
        await until(lambda: len(stage.pools.streams) == 2)
        slow, endpoint = streams[0], stage.pools.streams[0]
        assert endpoint.consumer is not None
        assert slow.consumer is not None
        endpoint.consumer.endpoint_paused()
        slow.consumer.client_paused()
        assert [stream.is_held for stream in streams] == [True, False]
        assert [stream.is_held for stream in stage.pools.streams] == [True, False]
        endpoint.consumer.endpoint_resumed()
        slow.consumer.client_resumed()
        assert not slow.is_held
        assert not endpoint.is_held
        for each in stage.pools.streams:
            each.respond()
        await all_over(streams)
