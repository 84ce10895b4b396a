"""The metrics about streams, which are relayed as bytes; part of the table in `definitions`."""

from __future__ import annotations

from typing import Final

from balancer.metrics.kinds import Definition, MetricKind

STREAM_BUCKETS_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

STREAM_CONNECTIONS: Final = Definition(
    name="zonal_stream_connections_total",
    kind=MetricKind.COUNTER,
    labels=("namespace", "ingress", "kind", "service", "from_zone", "to_zone", "locality", "error"),
    help=(
        "Streams that ended, by the route (`ingress` and `kind` are the name and kind of its object), zones, and the "
        "error in the access log, which is empty if both sides had said everything."
    ),
)
STREAM_SECONDS: Final = Definition(
    name="zonal_stream_seconds_total",
    kind=MetricKind.COUNTER,
    labels=("namespace", "ingress", "kind", "service"),
    help="Seconds that streams were open, counted at their end.",
)
STREAM_CONNECT: Final = Definition(
    name="zonal_stream_connect_seconds",
    kind=MetricKind.HISTOGRAM,
    labels=("namespace", "service", "to_zone"),
    help="Time that endpoints of streams took to accept, with their TLS handshake if there is one.",
    buckets=STREAM_BUCKETS_SECONDS,
)
