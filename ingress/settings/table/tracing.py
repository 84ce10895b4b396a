"""Options about traces: which requests have spans, and where spans go.

Source: ingress-nginx v1.15.1, ConfigMap keys enable-opentelemetry, opentelemetry-*, otel-* and otlp-*, and the
annotations of the first two. It must not know how spans are sent.
"""

from __future__ import annotations

import re

import msgspec

from balancer.logs.lineformats import unknown_variables
from balancer.model.gates import GateRule
from balancer.model.tracing import Sampler, Sampling, SpanExport, SpanProtocol, Tracing
from ingress.findings import Severity
from ingress.settings.table.option import Overrides, cluster_option, cluster_switch, route_option, route_switch
from ingress.settings.unsupported import Loss
from ingress.settings.values import InvalidValue, integer

_CHARACTERS_MOST = 256
_PRINTABLE = re.compile(rf"[!-~ ]{{0,{_CHARACTERS_MOST}}}")
_HOST = re.compile(r"\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253}")
_PORT_MOST = 65535
_QUEUE_MOST = 100_000  # each worker keeps up to so many spans of about a kilobyte
_NO_COLLECTOR = "otlp-collector-host is not set in the ConfigMap: set it."
_DEFAULT = Loss(Severity.COSMETIC, "traces are sent as if the option were not there")


class TracingSettings(msgspec.Struct, frozen=True):
    """What an Ingress, or the ConfigMap for every Ingress, says about its spans."""

    enabled: bool = False
    trusts_client: bool = True
    operation: str = ""

    def gates(self, export: ExportSettings) -> tuple[GateRule, ...]:
        """The gate of the paths of an Ingress; none without spans, or if spans cannot be sent."""
        if not self.enabled or export.obstacle:
            return ()
        return (Tracing(self.operation, self.trusts_client, export.sampling),)


class ExportSettings(msgspec.Struct, frozen=True):
    """What the ConfigMap says about sampling and about the collector.

    `obstacle` says why no span can be sent, as a sentence with what to do; empty if they can.
    """

    sampling: Sampling = Sampling()
    export: SpanExport | None = None
    obstacle: str = _NO_COLLECTOR


class CollectorSettings(msgspec.Struct, frozen=True):
    """The collector, with a field for each key."""

    host: str = ""
    port: int = 4317
    protocol: SpanProtocol = SpanProtocol.GRPC
    service_name: str = "nginx"
    queue_most: int = 2048
    delay_milliseconds: int = 5000
    batch_most: int = 512


def export_settings(overrides: Overrides) -> ExportSettings:
    """Where spans go; `overrides` are those of the ConfigMap."""
    said, sampling = overrides.over(CollectorSettings()), overrides.over(Sampling())
    if not said.host:
        return ExportSettings(sampling)
    export = SpanExport(
        said.host,
        said.port,
        said.protocol,
        said.service_name,
        said.queue_most,
        said.delay_milliseconds / 1000,
        min(said.batch_most, said.queue_most),
    )
    return ExportSettings(sampling, export, obstacle="")


def operation_name(text: str) -> str:
    """Text with variables of the access log."""
    if not _PRINTABLE.fullmatch(text):
        raise InvalidValue(f"use at most {_CHARACTERS_MOST} printable characters")
    if unknown := unknown_variables(text):
        raise InvalidValue(f"${unknown[0]} is not supported")
    return text.strip()


def collector_host(text: str) -> str:
    """A host name or address; empty is none."""
    if text.strip() and not _HOST.fullmatch(text.strip()):
        raise InvalidValue("use a host name or an address, IPv6 in brackets")
    return text.strip()


def sampler(text: str) -> Sampler:
    """The name of a sampler."""
    try:
        return Sampler(text.strip())
    except ValueError:
        raise InvalidValue(f"use {', '.join(each.value for each in Sampler)}") from None


def ratio(text: str) -> float:
    """A share from 0 to 1."""
    if not re.fullmatch(r"[01](?:\.[0-9]{0,12})?|\.[0-9]{1,12}", text.strip()) or float(text) > 1:
        raise InvalidValue("use a number from 0 to 1")
    return float(text)


def protocol(text: str) -> SpanProtocol:
    """The name of a protocol."""
    try:
        return SpanProtocol(text.strip())
    except ValueError:
        raise InvalidValue(f"use {' or '.join(each.value for each in SpanProtocol)}") from None


def service_name(text: str) -> str:
    """The name of this proxy among services."""
    if not text.strip() or not _PRINTABLE.fullmatch(text):
        raise InvalidValue(f"use 1 to {_CHARACTERS_MOST} printable characters")
    return text.strip()


def port(text: str) -> int:
    """A port number."""
    number = integer(1)(text.strip())
    if number > _PORT_MOST:
        raise InvalidValue(f"use a port from 1 to {_PORT_MOST}")
    return number


def _spans(text: str) -> int:
    number = integer(1)(text.strip())
    if number > _QUEUE_MOST:
        raise InvalidValue(f"use a number from 1 to {_QUEUE_MOST}")
    return number


TRACING_OPTIONS = (
    route_switch(
        name="enable-opentelemetry",
        fills=(TracingSettings, "enabled"),
        doc='`"true"`: each request has a span, and its endpoint gets the `traceparent` of that span'
        " ([tracing](tracing.md)). Without it `traceparent` and `tracestate` of the client go on unchanged",
        doc_on_ingress='`"false"` switches spans off for the Ingress',
        if_invalid=_DEFAULT,
    ),
    route_switch(
        name="opentelemetry-trust-incoming-span",
        fills=(TracingSettings, "trusts_client"),
        default="true",
        doc='`"false"`: every request begins a new trace, whatever trace the client says it belongs to',
        if_invalid=_DEFAULT,
    ),
    route_option(
        name="opentelemetry-operation-name",
        fills=(TracingSettings, "operation"),
        grammar=operation_name,
        doc="name of spans, with [variables of the access log](access-log.md#log-format-upstream); empty: method and"
        " path of the route",
        if_invalid=_DEFAULT,
    ),
    cluster_option(
        name="otlp-collector-host",
        fills=(CollectorSettings, "host"),
        grammar=collector_host,
        doc="host of the collector that gets the spans, which speaks OTLP without TLS. Empty: no spans are made",
        if_invalid=_DEFAULT,
    ),
    cluster_option(
        name="otlp-collector-port",
        fills=(CollectorSettings, "port"),
        grammar=port,
        default="4317",
        doc="port of the collector; usual are 4317 for gRPC and 4318 for HTTP",
        if_invalid=_DEFAULT,
    ),
    cluster_option(
        name="otlp-collector-protocol",
        fills=(CollectorSettings, "protocol"),
        grammar=protocol,
        default="grpc",
        doc="`grpc` or `http/protobuf`; ingress-nginx speaks gRPC only",
        if_invalid=_DEFAULT,
    ),
    cluster_option(
        name="otel-service-name",
        fills=(CollectorSettings, "service_name"),
        grammar=service_name,
        default="nginx",
        doc="`service.name` of the spans",
        if_invalid=_DEFAULT,
    ),
    cluster_option(
        name="otel-sampler",
        fills=(Sampling, "sampler"),
        grammar=sampler,
        default="AlwaysOn",
        doc="which traces are recorded: `AlwaysOn`, `AlwaysOff` or `TraceIdRatioBased`",
        if_invalid=_DEFAULT,
    ),
    cluster_option(
        name="otel-sampler-ratio",
        fills=(Sampling, "ratio"),
        grammar=ratio,
        default="0.01",
        doc="share of traces that `TraceIdRatioBased` records, 0 to 1",
        if_invalid=_DEFAULT,
    ),
    cluster_switch(
        name="otel-sampler-parent-based",
        fills=(Sampling, "follows_parent"),
        default="true",
        doc='`"true"`: a request that belongs to a trace is recorded if the client recorded it',
        if_invalid=_DEFAULT,
    ),
    cluster_option(
        name="otel-max-queuesize",
        fills=(CollectorSettings, "queue_most"),
        grammar=_spans,
        default="2048",
        doc="how many spans of a namespace wait in each worker; the next are dropped (`zonal_spans_dropped_total`)",
        if_invalid=_DEFAULT,
    ),
    cluster_option(
        name="otel-schedule-delay-millis",
        fills=(CollectorSettings, "delay_milliseconds"),
        grammar=_spans,
        default="5000",
        doc="milliseconds after which waiting spans leave",
        if_invalid=_DEFAULT,
    ),
    cluster_option(
        name="otel-max-export-batch-size",
        fills=(CollectorSettings, "batch_most"),
        grammar=_spans,
        default="512",
        doc="how many spans leave in one request; so many leave at once",
        if_invalid=_DEFAULT,
    ),
)
