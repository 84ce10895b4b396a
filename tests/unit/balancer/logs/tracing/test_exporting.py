"""Spans as a collector reads them, over both protocols, and a collector that is not there."""

from __future__ import annotations

import asyncio
from concurrent import futures
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from balancer.logs.tracing import exporting
from balancer.logs.tracing.exporting import can_export, open_exporter
from balancer.logs.tracing.spans import FinishedSpan
from balancer.model.tracing import SpanExport, SpanProtocol
from tests.fakes.collectors import attributes, collecting
from tests.unit.balancer.proxy.standing import refusing

pytestmark = pytest.mark.large

TRACE, SPAN, PARENT = "1" * 32, "2" * 16, "3" * 16
SAID = (("http.route", "/"), ("zonal.attempts", 1))
FINISHED = FinishedSpan(TRACE, SPAN, PARENT, "GET /", 1_000, 2_000, SAID, failed=True)


def over_http(port: int) -> SpanExport:
    return SpanExport("127.0.0.1", port, SpanProtocol.HTTP, service_name="zonal")


async def exported(export: SpanExport, *spans: FinishedSpan) -> bool:
    exporter = open_exporter(export)
    try:
        return await asyncio.to_thread(exporter.export, spans)
    finally:
        await asyncio.to_thread(exporter.close)


def check(span: Span) -> None:
    assert (span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()) == (TRACE, SPAN, PARENT)
    assert (span.name, span.start_time_unix_nano, span.end_time_unix_nano) == ("GET /", 1_000, 2_000)
    assert (span.kind, span.status.code) == (Span.SPAN_KIND_SERVER, Status.STATUS_CODE_ERROR)
    assert attributes(span) == {"http.route": "/", "zonal.attempts": 1}


async def test_a_collector_gets_spans_over_http() -> None:
    async with collecting() as collector:
        assert await exported(over_http(collector.port), FINISHED, FINISHED._replace(parent_id="", failed=False))
        first, second = collector.spans
        check(first)
        assert (second.parent_span_id, second.status.code) == (b"", Status.STATUS_CODE_UNSET)
        assert collector.resource["service.name"] == "zonal"


async def test_a_collector_gets_spans_over_grpc() -> None:
    taken: list[Span] = []

    def take(request: Any, _context: Any) -> Any:
        taken.extend(span for group in request.resource_spans for scope in group.scope_spans for span in scope.spans)
        return trace_service_pb2.ExportTraceServiceResponse()

    handler = grpc.unary_unary_rpc_method_handler(
        take,
        request_deserializer=trace_service_pb2.ExportTraceServiceRequest.FromString,
        response_serializer=trace_service_pb2.ExportTraceServiceResponse.SerializeToString,
    )
    service = "opentelemetry.proto.collector.trace.v1.TraceService"
    server = grpc.server(futures.ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Export": handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        assert await exported(SpanExport("127.0.0.1", port), FINISHED)
    finally:
        server.stop(None).wait()
    check(*taken)


@pytest.mark.parametrize("status", [400, 404])
async def test_a_collector_that_refuses_gets_nothing_twice(status: int) -> None:
    async with collecting() as collector:
        collector.status = status
        assert not await exported(over_http(collector.port), FINISHED)
        assert collector.requests == 1


async def test_a_collector_that_is_away_is_no_error() -> None:
    with refusing() as away:
        assert not await exported(over_http(away.port), FINISHED)


def test_whether_the_library_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert can_export()
    monkeypatch.setattr(exporting, "find_spec", lambda _: None)
    assert not can_export()

    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(exporting, "find_spec", missing)
    assert not can_export()
