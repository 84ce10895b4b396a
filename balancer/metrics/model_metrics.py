"""The metrics about what is served, such as routes and publications; part of the table in `definitions`."""

from __future__ import annotations

from typing import Final

from balancer.metrics.kinds import Definition, MetricKind

ROUTE_INFO: Final = Definition(
    name="zonal_route_info",
    kind=MetricKind.GAUGE,
    labels=("namespace", "ingress", "kind", "service"),
    help=(
        "Always 1, for each route that is served: `kind` is that of the object that other metrics call `ingress`, such "
        "as Ingress or HTTPRoute."
    ),
)
OWN_ZONE_INFO: Final = Definition(
    name="zonal_own_zone_info",
    kind=MetricKind.GAUGE,
    labels=("zone", "node", "source"),
    help="Always 1. The zone and node of this replica, and where the zone comes from (source: node, pod, flag, none).",
)
CONFIG_GENERATION: Final = Definition(
    name="zonal_config_generation",
    kind=MetricKind.GAUGE,
    labels=(),
    help="Generation of the publication in use. It grows by one with each change.",
)
CONFIG_AGE: Final = Definition(
    name="zonal_config_age_seconds",
    kind=MetricKind.GAUGE,
    labels=(),
    help="Time since the publication in use was made. Absent before the first publication.",
)
WATCH_AGE: Final = Definition(
    name="zonal_watch_last_event_age_seconds",
    kind=MetricKind.GAUGE,
    labels=("kind",),
    help="Time since the API server last sent anything but bookmarks about a kind. Absent for a manifest folder.",
)
TRANSLATION_SECONDS: Final = Definition(
    name="zonal_translation_seconds",
    kind=MetricKind.GAUGE,
    labels=(),
    help="Duration of the last translation of the cluster's objects into a model.",
)
FINDINGS: Final = Definition(
    name="zonal_findings",
    kind=MetricKind.GAUGE,
    labels=("kind", "reason", "severity"),
    help="Present findings about cluster objects, by kind of object, reason, and severity for requests.",
)
CERTIFICATE_EXPIRY: Final = Definition(
    name="zonal_certificate_expiry_timestamp_seconds",
    kind=MetricKind.GAUGE,
    labels=("namespace", "secret"),
    help="Unix time when the certificate of a TLS Secret in use expires.",
)
