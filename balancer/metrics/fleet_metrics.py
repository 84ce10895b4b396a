"""The metrics about the conversation with other replicas; part of the table in `definitions`."""

from __future__ import annotations

from typing import Final

from balancer.metrics.kinds import Definition, MetricKind

FLEET_PEERS: Final = Definition(
    name="zonal_fleet_peers",
    kind=MetricKind.GAUGE,
    labels=("state",),
    help="Other replicas by state: up (heard lately), silent, or distrusted (what one told made no sense).",
)
FLEET_MESSAGES: Final = Definition(
    name="zonal_fleet_messages_total",
    kind=MetricKind.COUNTER,
    labels=("result",),
    help="Messages between replicas: heard, sent, or failed (not taken).",
)
FLEET_REFUSED: Final = Definition(
    name="zonal_fleet_refused_total",
    kind=MetricKind.COUNTER,
    labels=("reason",),
    help="Messages of other replicas that were refused, by what was wrong.",
)
FLEET_BYTES: Final = Definition(
    name="zonal_fleet_bytes_total",
    kind=MetricKind.COUNTER,
    labels=("direction",),
    help="Bytes of messages between replicas: heard or sent.",
)
FLEET_METRICS: Final = (FLEET_PEERS, FLEET_MESSAGES, FLEET_REFUSED, FLEET_BYTES)
"""What is told of the conversation with other replicas. Without peers there are no series."""
