"""Traces over real sockets: what endpoints, the collector and nobody learn, and collectors that fail."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from ingress.settings.context import TranslationContext
from tests.fakes.backends import EchoEndpoint, echoing
from tests.fakes.collectors import attributes, collecting
from tests.fakes.sockets import until
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import (
    Document,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
)
from tests.integration.wire import Connection, Response
from tests.unit.balancer.proxy.standing import refusing

PREFIX = "nginx.ingress.kubernetes.io/"
HOST, PLAIN_HOST = "shop.test", "plain.test"
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
VALID = f"00-{TRACE}-{SPAN}-01"
PARENTS = ("traceparent: " + VALID, "tracestate: vendor=1")


@pytest.fixture(autouse=True)
async def _no_thread_outlives_its_test() -> AsyncIterator[None]:
    """One that tries again draws from `random`. Hypothesis would blame the property that it checks by then."""
    yield
    await until(lambda: all(thread.name != "spans" for thread in threading.enumerate()))


def serve(plane: DataPlane, endpoint: EchoEndpoint, collector_port: int | None, **settings: str) -> list[str]:
    """Serves a host with spans, and one that switches spans off. Returns the reasons of the findings."""
    if collector_port is not None:
        settings |= {
            "otlp_collector_host": "127.0.0.1",
            "otlp_collector_port": str(collector_port),
            "otlp_collector_protocol": "http/protobuf",
        }
    settings = {"enable_opentelemetry": "true", "otel_schedule_delay_millis": "10", **settings}
    cluster: list[Document] = [
        ingress_class(),
        service("cart"),
        endpoint_slice(endpoint),
        config_map(**settings),
        ingress("web", rule(HOST, path("/", "cart"))),
        ingress("plain", rule(PLAIN_HOST, path("/", "cart")), annotations={PREFIX + "enable-opentelemetry": "false"}),
    ]
    return [finding.reason for finding in plane.serve(cluster, TranslationContext(allow_local_endpoints=True))]


async def ask(plane: DataPlane, *fields: str, host: str = HOST, target: str = "/") -> Response:
    async with await Connection.open(plane.http_port) as connection:
        return await connection.get(host, target, *fields)


def received(answer: Response, name: str) -> list[str]:
    """The values of a field that the endpoint got."""
    return [value for each, value in answer.json()["headers"] if each.lower() == name]


async def test_a_span_continues_the_trace_of_the_client() -> None:
    async with echoing("cart", {"zone-a": 1}) as (endpoint,), collecting() as collector, data_plane() as plane:
        assert serve(plane, endpoint, collector.port, otel_service_name="edge") == []
        answer = await ask(plane, *PARENTS, target="/a?secret=1")
        (parent,) = received(answer, "traceparent")
        assert received(answer, "tracestate") == ["vendor=1"]
        await until(lambda: len(collector.spans) == 1)
        (span,) = collector.spans
        assert parent == f"00-{TRACE}-{span.span_id.hex()}-01"
        assert (span.trace_id.hex(), span.parent_span_id.hex(), span.name) == (TRACE, SPAN, "GET /")
        said = attributes(span)
        assert (said["url.path"], said["http.response.status_code"], said["zonal.service"]) == ("/a", 200, "cart")
        assert span.end_time_unix_nano >= span.start_time_unix_nano
        assert collector.resource["service.name"] == "edge"


@pytest.mark.parametrize("fields", [(), ("traceparent: nonsense", "tracestate: vendor=1")])
async def test_a_trace_begins_here_without_a_valid_one(fields: tuple[str, ...]) -> None:
    async with echoing("cart", {"zone-a": 1}) as (endpoint,), collecting() as collector, data_plane() as plane:
        serve(plane, endpoint, collector.port)
        answer = await ask(plane, *fields)
        (parent,) = received(answer, "traceparent")
        assert received(answer, "tracestate") == []
        await until(lambda: len(collector.spans) == 1)
        assert parent.split("-")[1] == collector.spans[0].trace_id.hex()
        assert collector.spans[0].parent_span_id == b""


async def test_a_trace_that_is_not_recorded_goes_on() -> None:
    async with echoing("cart", {"zone-a": 1}) as (endpoint,), collecting() as collector, data_plane() as plane:
        serve(plane, endpoint, collector.port, otel_sampler="AlwaysOff")
        (parent,) = received(await ask(plane), "traceparent")
        assert parent.endswith("-00")
        assert received(await ask(plane, f"traceparent: {VALID[:-2]}00"), "traceparent")[0].startswith(f"00-{TRACE}-")
        await plane.worker.stop()
        assert collector.requests == 0


@pytest.mark.parametrize("value", [VALID, "nonsense"])
async def test_without_spans_the_context_of_the_client_goes_on_untouched(value: str) -> None:
    async with echoing("cart", {"zone-a": 1}) as (endpoint,), collecting() as collector, data_plane() as plane:
        serve(plane, endpoint, collector.port)
        answer = await ask(plane, f"traceparent: {value}", "tracestate: vendor=1", host=PLAIN_HOST)
        assert (received(answer, "traceparent"), received(answer, "tracestate")) == ([value], ["vendor=1"])
        assert serve(plane, endpoint, None) == ["NoSpans"]
        answer = await ask(plane, f"traceparent: {value}", "tracestate: vendor=1")
        assert (received(answer, "traceparent"), received(answer, "tracestate")) == ([value], ["vendor=1"])


def test_a_route_without_spans_has_no_gate() -> None:
    async def judged() -> tuple[int, ...]:
        async with echoing("cart", {"zone-a": 1}) as (endpoint,), data_plane() as plane:
            serve(plane, endpoint, 4318)
            matches = [
                plane.worker.live.view.configurations["http"].match(host.encode(), b"/") for host in (HOST, PLAIN_HOST)
            ]
            return tuple(len(match.served.plain_gates) for match in matches if match is not None)

    assert asyncio.run(judged()) == (1, 0)


async def test_a_redirect_has_a_span() -> None:
    async with echoing("cart", {"zone-a": 1}) as (endpoint,), collecting() as collector, data_plane() as plane:
        serve(plane, endpoint, collector.port, force_ssl_redirect="true")
        assert (await ask(plane)).status == 308
        await until(lambda: len(collector.spans) == 1)
        assert attributes(collector.spans[0])["http.response.status_code"] == 308


async def test_a_collector_that_hangs_holds_up_nobody_and_the_queue_is_bounded() -> None:
    async with echoing("cart", {"zone-a": 1}) as (endpoint,), collecting() as collector, data_plane() as plane:
        serve(plane, endpoint, collector.port, otel_max_queuesize="4", otel_max_export_batch_size="2")
        collector.open.clear()
        assert (await ask(plane)).status == 200
        await until(lambda: collector.requests == 1)
        for _ in range(10):
            assert (await ask(plane)).status == 200
        collector.open.set()
        assert (await ask(plane)).status == 200
        await until(lambda: bool(collector.spans))
        assert collector.largest <= 2


@pytest.mark.parametrize("status", [500, 503])
async def test_a_collector_that_fails_fails_nobody(status: int) -> None:
    async with echoing("cart", {"zone-a": 1}) as (endpoint,), collecting() as collector, data_plane() as plane:
        serve(plane, endpoint, collector.port)
        collector.status = status
        for _ in range(5):
            assert (await ask(plane)).status == 200
        await until(lambda: collector.requests > 0)
        collector.status = 200
        assert (await ask(plane)).status == 200
        await until(lambda: bool(collector.spans))


async def test_a_collector_that_is_away_fails_nobody() -> None:
    with refusing() as away:
        async with echoing("cart", {"zone-a": 1}) as (endpoint,), data_plane() as plane:
            serve(plane, endpoint, away.port)
            answers = await asyncio.gather(*(ask(plane) for _ in range(20)))
            assert {answer.status for answer in answers} == {200}


async def test_the_end_of_a_worker_sends_what_waits() -> None:
    async with echoing("cart", {"zone-a": 1}) as (endpoint,), collecting() as collector, data_plane() as plane:
        serve(plane, endpoint, collector.port, otel_schedule_delay_millis="100000")
        for _ in range(3):
            assert (await ask(plane)).status == 200
        await plane.worker.drain(grace_seconds=0, limit_seconds=30)
        assert len(collector.spans) == 3
