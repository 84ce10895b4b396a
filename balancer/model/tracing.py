"""Traces in the model: which requests have spans, and where spans go (ingress-nginx: enable-opentelemetry, otel-*)."""

from __future__ import annotations

from enum import Enum

import msgspec


class Sampler(Enum):
    """How it is decided whether a trace is recorded. The values are those of `otel-sampler`."""

    ALWAYS_ON = "AlwaysOn"
    ALWAYS_OFF = "AlwaysOff"
    RATIO = "TraceIdRatioBased"


class Sampling(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Which traces are recorded. `ratio` is the share, 0 to 1, for the sampler of that name.

    `follows_parent`: a request with a trace context is recorded if its sender recorded it.
    """

    sampler: Sampler = Sampler.ALWAYS_ON
    ratio: float = 0.01
    follows_parent: bool = True


class Tracing(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="tracing"):
    """Makes a span of each request of a route.

    `operation` is text with variables for the name of spans, empty for method and path of the route. `trusts_client`:
    the trace of the client is continued; otherwise each request begins a new trace.
    """

    operation: str = ""
    trusts_client: bool = True
    sampling: Sampling = Sampling()


class SpanProtocol(Enum):
    """How spans are sent. The values are those of OTEL_EXPORTER_OTLP_PROTOCOL."""

    GRPC = "grpc"
    HTTP = "http/protobuf"


class SpanExport(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The collector of spans, which speaks OTLP without TLS.

    `queue_most` spans of a namespace wait in each worker; the next are dropped. Spans leave after `delay_seconds`, or
    when there are `batch_most`, which is also the largest number in one request.
    """

    host: str
    port: int = 4317
    protocol: SpanProtocol = SpanProtocol.GRPC
    service_name: str = "nginx"
    queue_most: int = 2048
    delay_seconds: float = 5.0
    batch_most: int = 512
