"""Makes the finished span of a request, with attributes of OpenTelemetry's semantic conventions. No I/O.

Source: OpenTelemetry semantic conventions 1.27, HTTP server spans. The query is left out, because it may hold secrets.
"""

from __future__ import annotations

from typing import NamedTuple

from balancer.http.origin import Origin
from balancer.logs.accesslines import FIELD_CHARACTERS_MAX, AccessRecord
from balancer.logs.lineformats import Logged, compile_format
from balancer.model.settings import LogEscape

_METHODS = frozenset({"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"})
_SERVER_ERROR = 500

Attribute = tuple[str, str | int]


class SpanContext(NamedTuple):
    """The place of one request in its trace. Ids are in lower-case hexadecimal.

    `parent_id` is empty if the trace begins here. `operation` is a template of the span's name, with
    access log variables; empty for the usual name.
    """

    trace_id: str
    span_id: str
    parent_id: str
    sampled: bool
    operation: str
    origin: Origin


class FinishedSpan(NamedTuple):
    """A span that can be sent. Times are Unix time in nanoseconds. `failed`: the proxy or the endpoint failed."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    started_ns: int
    ended_ns: int
    attributes: tuple[Attribute, ...]
    failed: bool


def finished_span(context: SpanContext, logged: Logged, route_path: str) -> FinishedSpan:
    """Makes the span of a request. Without an operation the span is named by method and path of the route."""
    record = logged.record
    method = record.method if record.method in _METHODS else ""
    ended_ns = int(record.time * 1e9)
    return FinishedSpan(
        context.trace_id,
        context.span_id,
        context.parent_id,
        _named(context.operation, logged) or f"{method or 'HTTP'} {route_path}",
        ended_ns - int(record.duration * 1e9),
        ended_ns,
        tuple(_bounded(item) for item in _attributes(context, record, method, route_path) if item[1] != ""),
        record.status >= _SERVER_ERROR,
    )


def _named(operation: str, logged: Logged) -> str:
    if not operation:
        return ""
    return compile_format(operation, LogEscape.NONE).line(logged).decode().strip()[:FIELD_CHARACTERS_MAX]


def _attributes(context: SpanContext, record: AccessRecord, method: str, route_path: str) -> list[Attribute]:
    found: list[Attribute] = [
        ("http.request.method", method or "_OTHER"),
        ("http.route", route_path),
        ("url.path", record.path.partition("?")[0]),
        ("url.scheme", "https" if context.origin.https else "http"),
        ("server.address", record.host),
        ("client.address", record.client),
        ("user_agent.original", record.user_agent or ""),
        ("network.protocol.version", record.protocol.rpartition("/")[2]),
        ("http.request.body.size", record.bytes_in),
        ("http.response.body.size", record.bytes_out),
        ("zonal.namespace", record.namespace),
        ("zonal.ingress", record.ingress),
        ("zonal.service", record.service),
        ("zonal.request_id", record.request_id),
        ("zonal.from_zone", record.from_zone),
        ("zonal.to_zone", record.to_zone),
        ("zonal.locality", record.locality),
        ("zonal.reason", record.reason),
        ("zonal.endpoint", record.endpoints[-1] if record.endpoints else ""),
        ("zonal.attempts", len(record.endpoints)),
    ]
    if record.status:
        found.append(("http.response.status_code", record.status))
    if record.error is not None or record.status >= _SERVER_ERROR:
        found.append(("error.type", record.error or str(record.status)))
    if record.method != method:
        found.append(("http.request.method_original", record.method))
    return found


def _bounded(attribute: Attribute) -> Attribute:
    name, value = attribute
    return (name, value[:FIELD_CHARACTERS_MAX]) if isinstance(value, str) else attribute
