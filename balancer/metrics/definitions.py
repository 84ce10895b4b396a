"""The contract of `/metrics`: every metric's name, kind, labels and meaning, in one table.

Responsible for the table and for the documentation page made from it (`python -m balancer.metrics.definitions`). It
must not know how anything is counted or rendered.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec

from balancer.members import UNKNOWN_ZONE


class Kind(Enum):
    """The Prometheus types in use."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Definition(msgspec.Struct, frozen=True):
    """One metric. `buckets` holds a histogram's upper bounds in seconds, without +Inf, ascending."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    help: str
    buckets: tuple[float, ...] = ()


# Prometheus' default buckets, which ingress-nginx uses too: dashboards keep working across a migration.
BUCKETS_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

_ROUTE = ("namespace", "ingress", "service")

REQUESTS: Final = Definition(
    name="zonal_requests_total",
    kind=Kind.COUNTER,
    labels=(*_ROUTE, "from_zone", "to_zone", "locality", "code"),
    help="Requests answered, by route, zones and class of the status code (1xx to 5xx; 499 is 4xx).",
)
REQUEST_DURATION: Final = Definition(
    name="zonal_request_duration_seconds",
    kind=Kind.HISTOGRAM,
    labels=(*_ROUTE, "locality"),
    help="From the end of a request's head to the end of its answer.",
    buckets=BUCKETS_SECONDS,
)
ENDPOINT_DURATION: Final = Definition(
    # The name is the contract that ingress-nginx users know; in the code it is an endpoint.
    name="zonal_upstream_duration_seconds",
    kind=Kind.HISTOGRAM,
    labels=(*_ROUTE, "locality"),
    help="The part of a request's duration that its last endpoint took.",
    buckets=BUCKETS_SECONDS,
)
ZONE_DECISIONS: Final = Definition(
    name="zonal_zone_decisions_total",
    kind=Kind.COUNTER,
    labels=("namespace", "service", "reason"),
    help="Requests for which an endpoint was picked, by the reason of the last pick.",
)
ZONE_BYTES: Final = Definition(
    name="zonal_zone_bytes_total",
    kind=Kind.COUNTER,
    labels=("namespace", "service", "from_zone", "to_zone", "direction"),
    help="Body bytes exchanged with endpoints (direction: request, response).",
)
ZONE_COST: Final = Definition(
    name="zonal_zone_cost_dollars_total",
    kind=Kind.COUNTER,
    labels=("namespace", "service"),
    help="What these bytes cost by zone-transfer-prices; an unknown zone costs nothing.",
)
ZONE_BLIND_COST: Final = Definition(
    name="zonal_zone_blind_cost_dollars_total",
    kind=Kind.COUNTER,
    labels=("namespace", "service"),
    help="What they would have cost a proxy that does not know zones, averaged over the ready endpoints.",
)
DRY_RUN_DECISIONS: Final = Definition(
    name="zonal_zone_dry_run_decisions_total",
    kind=Kind.COUNTER,
    labels=("namespace", "service", "reason"),
    help="Requests under zone-dry-run, by the reason that the policy would have had.",
)
DRY_RUN_COST: Final = Definition(
    name="zonal_zone_dry_run_cost_dollars_total",
    kind=Kind.COUNTER,
    labels=("namespace", "service"),
    help="What their bytes would have cost under the policy.",
)
SPILL_RATIO: Final = Definition(
    name="zonal_spill_ratio",
    kind=Kind.GAUGE,
    labels=("namespace", "service"),
    help="Under adaptive: the share of requests, 0 to 1, that leaves the own zone for its load.",
)
OVERLOAD_FACTOR: Final = Definition(
    name="zonal_zone_overload_factor",
    kind=Kind.GAUGE,
    labels=("namespace", "service", "zone"),
    help="Under adaptive: the latency of the own zone as a multiple of what it is without strain.",
)
ENDPOINTS: Final = Definition(
    name="zonal_endpoints",
    kind=Kind.GAUGE,
    labels=("namespace", "service", "zone", "state"),
    help="Endpoints in the model (state: ready, draining, ejected).",
)
OWN_ZONE_INFO: Final = Definition(
    name="zonal_own_zone_info",
    kind=Kind.GAUGE,
    labels=("zone", "node", "source"),
    help="Always 1: where this replica runs and how it knows (source: node, pod, flag, none).",
)
CONFIG_GENERATION: Final = Definition(
    name="zonal_config_generation",
    kind=Kind.GAUGE,
    labels=(),
    help="Number of the publication in use; it grows by one with each change.",
)
CONFIG_AGE: Final = Definition(
    name="zonal_config_age_seconds",
    kind=Kind.GAUGE,
    labels=(),
    help="Time since the publication in use was made; absent before the first one.",
)
WATCH_AGE: Final = Definition(
    name="zonal_watch_last_event_age_seconds",
    kind=Kind.GAUGE,
    labels=("kind",),
    help="Time since the API server last said anything about a kind, bookmarks apart; absent for a manifest folder.",
)
TRANSLATION_SECONDS: Final = Definition(
    name="zonal_translation_seconds",
    kind=Kind.GAUGE,
    labels=(),
    help="Time the last translation of the cluster's objects into a model took.",
)
FINDINGS: Final = Definition(
    name="zonal_findings",
    kind=Kind.GAUGE,
    labels=("kind", "reason"),
    help="Present objections to cluster objects, by kind of object and reason.",
)
CERTIFICATE_EXPIRY: Final = Definition(
    name="zonal_certificate_expiry_timestamp_seconds",
    kind=Kind.GAUGE,
    labels=("namespace", "secret"),
    help="When the certificate of a TLS Secret in use expires, as Unix time.",
)
ACCESS_LOG_DROPPED: Final = Definition(
    name="zonal_access_log_dropped_total",
    kind=Kind.COUNTER,
    labels=(),
    help="Access log lines dropped because their reader was too slow or gone.",
)
ERRORS: Final = Definition(
    name="zonal_errors_total",
    kind=Kind.COUNTER,
    labels=("kind",),
    help="Errors met while serving, by kind; metrics_overflow: lookups of series without room in the counter table.",
)
CONNECTIONS: Final = Definition(
    name="zonal_connections",
    kind=Kind.GAUGE,
    labels=("state",),
    help="Open connections (state: client_active, client_idle, endpoint_active, endpoint_idle).",
)
RETRIES: Final = Definition(
    name="zonal_retries_total",
    kind=Kind.COUNTER,
    labels=("reason",),
    help="Further attempts after a failed one, by what failed.",
)
EJECTIONS: Final = Definition(
    name="zonal_ejections_total",
    kind=Kind.COUNTER,
    labels=(),
    help="Endpoints ejected for failing in a row, each time a worker ejected one.",
)
WORKER_RESTARTS: Final = Definition(
    name="zonal_worker_restarts_total",
    kind=Kind.COUNTER,
    labels=(),
    help="Worker processes started in place of another, whatever ended it; the log says why.",
)
EVENT_LOOP_LAG: Final = Definition(
    name="zonal_event_loop_lag_seconds",
    kind=Kind.GAUGE,
    labels=(),
    help="The longest delay of an event loop, of the workers' and our own, in the last half minute.",
)
BUILD_INFO: Final = Definition(
    name="zonal_build_info",
    kind=Kind.GAUGE,
    labels=("version",),
    help="Always 1: the version that runs.",
)

DEFINITIONS: Final = (
    REQUESTS,
    REQUEST_DURATION,
    ENDPOINT_DURATION,
    ZONE_DECISIONS,
    ZONE_BYTES,
    ZONE_COST,
    ZONE_BLIND_COST,
    DRY_RUN_DECISIONS,
    DRY_RUN_COST,
    SPILL_RATIO,
    OVERLOAD_FACTOR,
    ENDPOINTS,
    OWN_ZONE_INFO,
    CONFIG_GENERATION,
    CONFIG_AGE,
    WATCH_AGE,
    TRANSLATION_SECONDS,
    FINDINGS,
    CERTIFICATE_EXPIRY,
    ACCESS_LOG_DROPPED,
    ERRORS,
    CONNECTIONS,
    RETRIES,
    EJECTIONS,
    WORKER_RESTARTS,
    EVENT_LOOP_LAG,
    BUILD_INFO,
)

_PAGE = """\
# Metrics

Made from `balancer/metrics/definitions.py` by `python -m balancer.metrics.definitions`; do not edit.

Served as Prometheus text on the admin port under `/metrics`.

* A request without a route has an empty `namespace`, `ingress` and `service`.
* An unknown zone is the label value `{unknown_zone}`. `locality` is `local`, `remote` or `unknown`.
* `reason` of a zone decision is the code that the access log shows for the same request.
* No label carries text that a client chose, and none names an endpoint.
* Series of a route that no longer exists are left out.
* Buckets of the histograms, in seconds: {buckets}, +Inf.

| name | type | labels | meaning |
|---|---|---|---|
{rows}
"""


def markdown() -> str:
    """The documentation page `docs/metrics.md`, whole."""
    rows = (
        f"| `{each.name}` | {each.kind.value} | {', '.join(each.labels) or '—'} | {each.help} |" for each in DEFINITIONS
    )
    buckets = ", ".join(f"{bound:g}" for bound in BUCKETS_SECONDS)
    return _PAGE.format(unknown_zone=UNKNOWN_ZONE, buckets=buckets, rows="\n".join(rows))


if __name__ == "__main__":
    print(markdown(), end="")
