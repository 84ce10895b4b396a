"""Sends spans to a collector with OpenTelemetry's own exporters (the extra `otel` of this package).

The only module that knows the library. The library is imported when the first span leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from balancer.logs.tracing.spans import FinishedSpan
from balancer.model.tracing import SpanExport, SpanProtocol

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter as LibraryExporter

_LIBRARIES = (
    "opentelemetry.sdk.trace",
    "opentelemetry.exporter.otlp.proto.grpc",
    "opentelemetry.exporter.otlp.proto.http",
)
_TIMEOUT_SECONDS = 5  # for a batch with all its retries


def can_export() -> bool:
    """Whether the libraries are installed."""
    try:
        return all(find_spec(name) is not None for name in _LIBRARIES)
    except ModuleNotFoundError:
        return False


def open_exporter(export: SpanExport) -> OtlpExporter:
    """Makes an exporter to a collector, without a connection yet. Raises ImportError without the libraries."""
    return OtlpExporter(export)


class OtlpExporter:
    """Encodes and sends batches of spans over OTLP. Retries what the collector asks to retry, for some seconds."""

    def __init__(self, export: SpanExport) -> None:
        from opentelemetry.sdk.resources import Resource

        self._resource = Resource.create({"service.name": export.service_name})
        self._exporter = _exporter(export)

    def export(self, spans: Sequence[FinishedSpan]) -> bool:
        """Sends the spans. Returns whether the collector took them."""
        from opentelemetry.sdk.trace.export import SpanExportResult

        readable = list(map(partial(_readable, resource=self._resource), spans))
        return self._exporter.export(readable) is SpanExportResult.SUCCESS

    def close(self) -> None:
        """Closes the connections."""
        self._exporter.shutdown()


def _exporter(export: SpanExport) -> LibraryExporter:
    address = f"http://{export.host}:{export.port}"
    if export.protocol is SpanProtocol.HTTP:
        from opentelemetry.exporter.otlp.proto.http import trace_exporter as over_http

        return over_http.OTLPSpanExporter(endpoint=f"{address}/v1/traces", timeout=_TIMEOUT_SECONDS)
    from opentelemetry.exporter.otlp.proto.grpc import trace_exporter as over_grpc

    return over_grpc.OTLPSpanExporter(endpoint=address, insecure=True, timeout=_TIMEOUT_SECONDS)


def _readable(span: FinishedSpan, *, resource: Resource) -> ReadableSpan:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

    trace_id, flags = int(span.trace_id, 16), TraceFlags(TraceFlags.SAMPLED)
    parent = None
    if span.parent_id:
        parent = SpanContext(trace_id, int(span.parent_id, 16), is_remote=True, trace_flags=flags)
    return ReadableSpan(
        name=span.name,
        context=SpanContext(trace_id, int(span.span_id, 16), is_remote=False, trace_flags=flags),
        parent=parent,
        resource=resource,
        attributes=dict(span.attributes),
        kind=SpanKind.SERVER,
        status=Status(StatusCode.ERROR if span.failed else StatusCode.UNSET),
        start_time=span.started_ns,
        end_time=span.ended_ns,
        instrumentation_scope=InstrumentationScope("zonal"),
    )
