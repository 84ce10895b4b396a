"""The metrics about the conversation with other replicas; part of the table in `definitions`."""

from __future__ import annotations

from typing import Final

from balancer.metrics.kinds import counter, gauge

FLEET_PEERS: Final = gauge(
    "zonal_fleet_peers",
    ("state",),
    help="Other replicas by state: up (heard lately), silent, or distrusted (what one told made no sense).",
)
FLEET_MESSAGES: Final = counter(
    "zonal_fleet_messages_total",
    ("result",),
    help="Messages between replicas: heard, sent, or failed (not taken).",
)
FLEET_REFUSED: Final = counter(
    "zonal_fleet_refused_total",
    ("reason",),
    help="Messages of other replicas that were refused, and connections of whoever is none, by what was wrong.",
)
FLEET_BYTES: Final = counter(
    "zonal_fleet_bytes_total",
    ("direction",),
    help="Bytes of messages between replicas: heard or sent.",
)
FLEET_SICK_ZONES: Final = gauge(
    "zonal_fleet_zone_sick_ratio",
    ("zone",),
    help="Of the backends of a zone that is sick for the fleet, the share that requests leave there.",
)
FLEET_SICK_LINKS: Final = gauge(
    "zonal_fleet_sick_links",
    help="1 while what this replica asks fails, and the same answers other replicas, in every zone; else 0.",
)
FLEET_METRICS: Final = (
    FLEET_PEERS,
    FLEET_MESSAGES,
    FLEET_REFUSED,
    FLEET_BYTES,
    FLEET_SICK_ZONES,
    FLEET_SICK_LINKS,
)
"""What is told of the conversation with other replicas. Without peers there are no series."""
