"""The metrics about what is served, such as routes and publications; part of the table in `definitions`."""

from __future__ import annotations

from typing import Final

from balancer.metrics.kinds import gauge

ROUTE_INFO: Final = gauge(
    "zonal_route_info",
    ("namespace", "ingress", "kind", "service"),
    help="Always 1, for each route that is served: `kind` is that of the object that other metrics call `ingress`, such"
    " as Ingress or HTTPRoute.",
)
OWN_ZONE_INFO: Final = gauge(
    "zonal_own_zone_info",
    ("zone", "node", "source"),
    help="Always 1. The zone and node of this replica, and where the zone comes from (source: node, pod, flag, none).",
)
CONFIG_GENERATION: Final = gauge(
    "zonal_config_generation",
    help="Generation of the publication in use. It grows by one with each change.",
)
CONFIG_AGE: Final = gauge(
    "zonal_config_age_seconds",
    help="Time since the publication in use was made. Absent before the first publication.",
)
WATCH_AGE: Final = gauge(
    "zonal_watch_last_event_age_seconds",
    ("kind",),
    help="Time since the API server last sent anything but bookmarks about a kind. Absent for a manifest folder.",
)
TRANSLATION_SECONDS: Final = gauge(
    "zonal_translation_seconds",
    help="Duration of the last translation of the cluster's objects into a model.",
)
FINDINGS: Final = gauge(
    "zonal_findings",
    ("kind", "reason", "severity"),
    help="Present findings about cluster objects, by kind of object, reason, and severity for requests.",
)
CERTIFICATE_EXPIRY: Final = gauge(
    "zonal_certificate_expiry_timestamp_seconds",
    ("namespace", "secret"),
    help="Unix time when the certificate of a TLS Secret in use expires.",
)

MODEL_METRICS: Final = (
    ROUTE_INFO,
    OWN_ZONE_INFO,
    CONFIG_GENERATION,
    CONFIG_AGE,
    WATCH_AGE,
    TRANSLATION_SECONDS,
    FINDINGS,
    CERTIFICATE_EXPIRY,
)
"""In the order of the table."""
