"""The metrics about streams, which are relayed as bytes; part of the table in `definitions`."""

from __future__ import annotations

from typing import Final

from balancer.metrics.kinds import counter, histogram

STREAM_CONNECTIONS: Final = counter(
    "zonal_stream_connections_total",
    ("namespace", "ingress", "kind", "service", "from_zone", "to_zone", "locality", "error"),
    help="Streams that ended, by the route (`ingress` and `kind` are the name and kind of its object), zones, and the"
    " error in the access log, which is empty if both sides had said everything.",
)
STREAM_SECONDS: Final = counter(
    "zonal_stream_seconds_total",
    ("namespace", "ingress", "kind", "service"),
    help="Seconds that streams were open, counted at their end.",
)
STREAM_CONNECT: Final = histogram(
    "zonal_stream_connect_seconds",
    ("namespace", "service", "to_zone"),
    help="Time that endpoints of streams took to accept, with their TLS handshake if there is one.",
)

STREAM_METRICS: Final = (STREAM_CONNECTIONS, STREAM_SECONDS, STREAM_CONNECT)
"""In the order of the table."""
