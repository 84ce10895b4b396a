"""The contract of `/metrics`: every metric's name, kind, labels and meaning, in one table.

Does not know how metrics are counted or rendered.
"""

from __future__ import annotations

from typing import Final

from balancer.metrics.fleet_metrics import FLEET_METRICS
from balancer.metrics.kinds import Definition, MetricKind
from balancer.metrics.model_metrics import (
    CERTIFICATE_EXPIRY,
    CONFIG_AGE,
    CONFIG_GENERATION,
    FINDINGS,
    OWN_ZONE_INFO,
    ROUTE_INFO,
    TRANSLATION_SECONDS,
    WATCH_AGE,
)
from balancer.metrics.process_metrics import (
    PROCESS_CPU,
    PROCESS_MAX_FDS,
    PROCESS_MEMORY,
    PROCESS_OPEN_FDS,
    PROCESS_START,
    PROCESS_VIRTUAL_MEMORY,
    WORKER_CPU,
    WORKER_MEMORY,
    WORKER_OPEN_FDS,
    WORKER_START,
)
from balancer.metrics.stream_metrics import STREAM_CONNECT, STREAM_CONNECTIONS, STREAM_SECONDS

# The bounds from 5 ms on are the defaults of Prometheus. ingress-nginx uses them too, so dashboards keep working.
# The three smaller bounds show the gain of a zone, because a hop to another zone costs about a millisecond.
BUCKETS_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

_ROUTE = ("namespace", "ingress", "service")

REQUESTS: Final = Definition(
    name="zonal_requests_total",
    kind=MetricKind.COUNTER,
    labels=(*_ROUTE, "from_zone", "to_zone", "locality", "code"),
    help="Requests answered, by route, zones and class of the status code (1xx to 5xx; 499 is 4xx).",
)
RESPONSES: Final = Definition(
    name="zonal_responses_total",
    kind=MetricKind.COUNTER,
    labels=(*_ROUTE, "status", "error"),
    help=(
        "Requests answered, by exact status (or by its class, such as 5xx, if IANA does not list the status) and by "
        "the error in the access log. The error is empty if an endpoint answered in full."
    ),
)
REQUEST_DURATION: Final = Definition(
    name="zonal_request_duration_seconds",
    kind=MetricKind.HISTOGRAM,
    labels=(*_ROUTE, "locality"),
    help="Time from the end of a request's head to the end of its answer.",
    buckets=BUCKETS_SECONDS,
)
ENDPOINT_DURATION: Final = Definition(
    # The name says "upstream", because users of ingress-nginx know the word. The code says "endpoint".
    name="zonal_upstream_duration_seconds",
    kind=MetricKind.HISTOGRAM,
    labels=(*_ROUTE, "to_zone", "locality"),
    help="Time that the last endpoint of a request took.",
    buckets=BUCKETS_SECONDS,
)
GRPC_RESPONSES: Final = Definition(
    name="zonal_grpc_responses_total",
    kind=MetricKind.COUNTER,
    labels=(*_ROUTE, "grpc_status"),
    help="Answers to gRPC calls, by grpc-status (0 to 16, or `other`). Calls that were cut short are not counted.",
)
LIMIT_STORE_ANSWERS: Final = Definition(
    name="zonal_limit_store_answers_total",
    kind=MetricKind.COUNTER,
    labels=("outcome",),
    help="Questions to the store of limits (`passed`, `refused`, `late`), and requests that were judged without it"
    " (`away`).",
)
ZONE_DECISIONS: Final = Definition(
    name="zonal_zone_decisions_total",
    kind=MetricKind.COUNTER,
    labels=("namespace", "service", "reason"),
    help="Requests for which an endpoint was picked, by the reason of the last pick.",
)
ZONE_BYTES: Final = Definition(
    name="zonal_zone_bytes_total",
    kind=MetricKind.COUNTER,
    labels=("namespace", "service", "from_zone", "to_zone", "direction"),
    help="Body bytes exchanged with endpoints (direction: request, response).",
)
ZONE_COST: Final = Definition(
    name="zonal_zone_cost_dollars_total",
    kind=MetricKind.COUNTER,
    labels=("namespace", "service"),
    help="Cost of the bytes of zonal_zone_bytes_total by zone-transfer-prices. Bytes of unknown zones cost nothing.",
)
ZONE_BLIND_COST: Final = Definition(
    name="zonal_zone_blind_cost_dollars_total",
    kind=MetricKind.COUNTER,
    labels=("namespace", "service"),
    help="Cost of the same bytes for a proxy that does not know zones: the average over the ready endpoints.",
)
CLIENT_BYTES: Final = Definition(
    name="zonal_client_bytes_total",
    kind=MetricKind.COUNTER,
    labels=("client_zone", "zone", "direction"),
    help="Body bytes exchanged with clients (direction: request, response) by their zone, `unknown` outside of"
    " zone-client-networks. Not counted without that key.",
)
CLIENT_COST: Final = Definition(
    name="zonal_client_cost_dollars_total",
    kind=MetricKind.COUNTER,
    labels=("client_zone", "zone"),
    help="Cost of the bytes of zonal_client_bytes_total by zone-transfer-prices: of the hop before zonal. Bytes of"
    " unknown zones have no price here.",
)
DRY_RUN_DECISIONS: Final = Definition(
    name="zonal_zone_dry_run_decisions_total",
    kind=MetricKind.COUNTER,
    labels=("namespace", "service", "reason", "locality"),
    help="Requests under zone-dry-run, by the reason and the locality that they would have had under the policy.",
)
DRY_RUN_COST: Final = Definition(
    name="zonal_zone_dry_run_cost_dollars_total",
    kind=MetricKind.COUNTER,
    labels=("namespace", "service"),
    help="Cost that the bytes of requests under zone-dry-run would have had under the policy.",
)
SPILL_RATIO: Final = Definition(
    name="zonal_spill_ratio",
    kind=MetricKind.GAUGE,
    labels=("namespace", "service"),
    help="Under adaptive: the share of requests, 0 to 1, that leaves the own zone because of its load.",
)
OVERLOAD_FACTOR: Final = Definition(
    name="zonal_zone_overload_factor",
    kind=MetricKind.GAUGE,
    labels=("namespace", "service", "zone"),
    help="Under adaptive: the latency of the own zone as a multiple of its latency at low load.",
)
EXPECTED_LOAD: Final = Definition(
    name="zonal_zone_expected_load",
    kind=MetricKind.GAUGE,
    labels=("namespace", "service", "zone"),
    help=(
        "Traffic share of the own zone divided by its endpoint share: the load of an endpoint there as a multiple of "
        "the average, if each replica gets as many requests. Computed from endpoints and policy, before rollout and "
        "dry run, and without what adaptive moves."
    ),
)
ZONE_FAILURE_RATIO: Final = Definition(
    name="zonal_zone_failure_ratio",
    kind=MetricKind.GAUGE,
    labels=("namespace", "service", "zone"),
    help="The share of answers, 0 to 1, that failed lately, while some fail and zone-evacuation judges the Service.",
)
ZONE_EVACUATIONS: Final = Definition(
    name="zonal_zone_evacuations_total",
    kind=MetricKind.COUNTER,
    labels=("namespace", "service", "zone", "dry_run"),
    help="How often a worker began to leave a zone because its answers fail; in a dry run it would have.",
)
ENDPOINTS: Final = Definition(
    name="zonal_endpoints",
    kind=MetricKind.GAUGE,
    labels=("namespace", "service", "zone", "state"),
    help=(
        "Endpoints in the model (state: ready, draining, ejected). "
        "A Service without ready endpoints has `ready` 0 in the zone `unknown`."
    ),
)
ZONE_DRAINED: Final = Definition(
    name="zonal_zone_drained",
    kind=MetricKind.GAUGE,
    labels=("zone",),
    help="Always 1, for each zone that zone-drain empties now.",
)
ACCESS_LOG_DROPPED: Final = Definition(
    name="zonal_access_log_dropped_total",
    kind=MetricKind.COUNTER,
    labels=(),
    help="Access log lines dropped because their reader was too slow or gone.",
)
SPANS_DROPPED: Final = Definition(
    name="zonal_spans_dropped_total",
    kind=MetricKind.COUNTER,
    labels=("reason",),
    help=(
        "Spans dropped because too many waited (reason: queue_full) or their collector did not take them (not_sent)."
    ),
)
ERRORS: Final = Definition(
    name="zonal_errors_total",
    kind=MetricKind.COUNTER,
    labels=("kind",),
    help="Errors while serving, by kind. `metrics_overflow` counts series that a full counter table could not take.",
)
CONNECTIONS: Final = Definition(
    name="zonal_connections",
    kind=MetricKind.GAUGE,
    labels=("state",),
    help="Open connections (state: client_active, client_idle, endpoint_active, endpoint_idle).",
)
HTTP2_CLIENTS: Final = Definition(
    name="zonal_http2_clients",
    kind=MetricKind.GAUGE,
    labels=("kind",),
    help="Open connections of clients that speak HTTP/2, and requests under way on them (kind: connections, streams).",
)
HTTP2_RESETS: Final = Definition(
    name="zonal_http2_resets_total",
    kind=MetricKind.COUNTER,
    labels=("kind",),
    help=(
        "Requests of clients over HTTP/2 that were broken off: by the client before its answer was whole "
        "(kind: client), because it was malformed (malformed), amid its answer (cut), or because the clients of a "
        "worker left too much unread (unread)."
    ),
)
HTTP2_FLOODS: Final = Definition(
    name="zonal_http2_floods_total",
    kind=MetricKind.COUNTER,
    labels=("kind",),
    help=(
        "Connections of clients over HTTP/2 that were closed because of a flood, by its kind: rapid_reset (the client "
        "resets), provoked_reset (it makes zonal reset), empty_data, continuation, or the type of the frames."
    ),
)
DEAR_HANDSHAKES: Final = Definition(
    name="zonal_tls_dear_handshakes_total",
    kind=MetricKind.COUNTER,
    labels=("host",),
    help=(
        "Handshakes of clients that took more than 20 ms of CPU time of a worker, by the host of an Ingress that they "
        "were for. The host is empty if they were for none."
    ),
)
HOOK_SECONDS: Final = Definition(
    name="zonal_hook_seconds",
    kind=MetricKind.HISTOGRAM,
    labels=("hook",),
    help="Time that calls of a hook took, with what they waited for.",
    buckets=BUCKETS_SECONDS,
)
HOOK_ERRORS: Final = Definition(
    name="zonal_hook_errors_total",
    kind=MetricKind.COUNTER,
    labels=("hook", "outcome"),
    help="Calls of a hook without an answer: raised, timeout, invalid, overrun (its process is killed), unavailable.",
)
RETRIES: Final = Definition(
    name="zonal_retries_total",
    kind=MetricKind.COUNTER,
    labels=("namespace", "service", "reason"),
    help="Further attempts after a failed attempt, by what failed.",
)
EJECTIONS: Final = Definition(
    name="zonal_ejections_total",
    kind=MetricKind.COUNTER,
    labels=("namespace", "service"),
    help="Ejections of endpoints by a worker, after failures in a row, here or at other replicas, or a failed probe.",
)
WORKER_RESTARTS: Final = Definition(
    name="zonal_worker_restarts_total",
    kind=MetricKind.COUNTER,
    labels=(),
    help="Worker processes started to replace another one. The log says why the other one ended.",
)
EVENT_LOOP_LAG: Final = Definition(
    name="zonal_event_loop_lag_seconds",
    kind=MetricKind.GAUGE,
    labels=(),
    help="Longest delay of any event loop, of workers and parent, in the last half minute.",
)
BUILD_INFO: Final = Definition(
    name="zonal_build_info",
    kind=MetricKind.GAUGE,
    labels=("version", "build"),
    help="Always 1. The labels are the running version and the build of the data plane: plain or compiled.",
)

DEFINITIONS: Final = (
    REQUESTS,
    RESPONSES,
    GRPC_RESPONSES,
    REQUEST_DURATION,
    ENDPOINT_DURATION,
    STREAM_CONNECTIONS,
    STREAM_SECONDS,
    STREAM_CONNECT,
    LIMIT_STORE_ANSWERS,
    ZONE_DECISIONS,
    ZONE_BYTES,
    ZONE_COST,
    ZONE_BLIND_COST,
    CLIENT_BYTES,
    CLIENT_COST,
    DRY_RUN_DECISIONS,
    DRY_RUN_COST,
    SPILL_RATIO,
    OVERLOAD_FACTOR,
    EXPECTED_LOAD,
    ZONE_FAILURE_RATIO,
    ZONE_EVACUATIONS,
    ENDPOINTS,
    ZONE_DRAINED,
    ROUTE_INFO,
    OWN_ZONE_INFO,
    CONFIG_GENERATION,
    CONFIG_AGE,
    WATCH_AGE,
    TRANSLATION_SECONDS,
    FINDINGS,
    CERTIFICATE_EXPIRY,
    ACCESS_LOG_DROPPED,
    SPANS_DROPPED,
    ERRORS,
    CONNECTIONS,
    HTTP2_CLIENTS,
    HTTP2_RESETS,
    HTTP2_FLOODS,
    DEAR_HANDSHAKES,
    HOOK_SECONDS,
    HOOK_ERRORS,
    RETRIES,
    EJECTIONS,
    WORKER_RESTARTS,
    EVENT_LOOP_LAG,
    *FLEET_METRICS,
    WORKER_CPU,
    WORKER_MEMORY,
    WORKER_OPEN_FDS,
    WORKER_START,
    PROCESS_CPU,
    PROCESS_MEMORY,
    PROCESS_VIRTUAL_MEMORY,
    PROCESS_OPEN_FDS,
    PROCESS_MAX_FDS,
    PROCESS_START,
    BUILD_INFO,
)
