"""The contract of `/metrics`: every metric's name, kind, labels and meaning, in one table.

Does not know how metrics are counted or rendered.
"""

from __future__ import annotations

from typing import Final

from balancer.metrics.fleet_metrics import FLEET_METRICS
from balancer.metrics.kinds import counter, gauge, histogram
from balancer.metrics.model_metrics import MODEL_METRICS
from balancer.metrics.process_metrics import PARENT_METRICS, WORKER_METRICS
from balancer.metrics.stream_metrics import STREAM_METRICS

_ROUTE = ("namespace", "ingress", "service")

REQUESTS: Final = counter(
    "zonal_requests_total",
    (*_ROUTE, "from_zone", "to_zone", "locality", "code"),
    help="Requests answered, by route, zones and class of the status code (1xx to 5xx; 499 is 4xx).",
)
RESPONSES: Final = counter(
    "zonal_responses_total",
    (*_ROUTE, "status", "error"),
    help="Requests answered, by exact status (or by its class, such as 5xx, if IANA does not list the status) and by"
    " the error in the access log. The error is empty if an endpoint answered in full.",
)
REQUEST_DURATION: Final = histogram(
    "zonal_request_duration_seconds",
    (*_ROUTE, "locality"),
    help="Time from the end of a request's head to the end of its answer.",
)
ENDPOINT_DURATION: Final = histogram(
    # The name says "upstream", because users of ingress-nginx know the word. The code says "endpoint".
    "zonal_upstream_duration_seconds",
    (*_ROUTE, "to_zone", "locality"),
    help="Time that the last endpoint of a request took.",
)
GRPC_RESPONSES: Final = counter(
    "zonal_grpc_responses_total",
    (*_ROUTE, "grpc_status"),
    help="Answers to gRPC calls, by grpc-status (0 to 16, or `other`). Calls that were cut short are not counted.",
)
LIMIT_STORE_ANSWERS: Final = counter(
    "zonal_limit_store_answers_total",
    ("outcome",),
    help="Questions to the store of limits (`passed`, `refused`, `late`), and requests that were judged without it"
    " (`away`).",
)
ZONE_DECISIONS: Final = counter(
    "zonal_zone_decisions_total",
    ("namespace", "service", "reason"),
    help="Requests for which an endpoint was picked, by the reason of the last pick.",
)
ZONE_BYTES: Final = counter(
    "zonal_zone_bytes_total",
    ("namespace", "service", "from_zone", "to_zone", "direction"),
    help="Body bytes exchanged with endpoints (direction: request, response).",
)
ZONE_COST: Final = counter(
    "zonal_zone_cost_dollars_total",
    ("namespace", "service"),
    help="Cost of the bytes of zonal_zone_bytes_total by zone-transfer-prices. Bytes of unknown zones cost nothing.",
)
ZONE_BLIND_COST: Final = counter(
    "zonal_zone_blind_cost_dollars_total",
    ("namespace", "service"),
    help="Cost of the same bytes for a proxy that does not know zones: the average over the ready endpoints.",
)
CLIENT_BYTES: Final = counter(
    "zonal_client_bytes_total",
    ("client_zone", "zone", "direction"),
    help="Body bytes exchanged with clients (direction: request, response) by their zone, `unknown` outside of"
    " zone-client-networks. Not counted without that key.",
)
CLIENT_COST: Final = counter(
    "zonal_client_cost_dollars_total",
    ("client_zone", "zone"),
    help="Cost of the bytes of zonal_client_bytes_total by zone-transfer-prices: of the hop before zonal. Bytes of"
    " unknown zones have no price here.",
)
DRY_RUN_DECISIONS: Final = counter(
    "zonal_zone_dry_run_decisions_total",
    ("namespace", "service", "reason", "locality"),
    help="Requests under zone-dry-run, by the reason and the locality that they would have had under the policy.",
)
DRY_RUN_COST: Final = counter(
    "zonal_zone_dry_run_cost_dollars_total",
    ("namespace", "service"),
    help="Cost that the bytes of requests under zone-dry-run would have had under the policy.",
)
SPILL_RATIO: Final = gauge(
    "zonal_spill_ratio",
    ("namespace", "service"),
    help="Under adaptive: the share of requests, 0 to 1, that leaves the own zone because of its load.",
)
OVERLOAD_FACTOR: Final = gauge(
    "zonal_zone_overload_factor",
    ("namespace", "service", "zone"),
    help="Under adaptive: the latency of the own zone as a multiple of its latency at low load.",
)
EXPECTED_LOAD: Final = gauge(
    "zonal_zone_expected_load",
    ("namespace", "service", "zone"),
    help="Traffic share of the own zone divided by its endpoint share: the load of an endpoint there as a multiple of"
    " the average, if each replica gets as many requests. Computed from endpoints and policy, before rollout and"
    " dry run, and without what adaptive moves.",
)
ZONE_FAILURE_RATIO: Final = gauge(
    "zonal_zone_failure_ratio",
    ("namespace", "service", "zone"),
    help="The share of answers, 0 to 1, that failed lately, while some fail and zone-evacuation judges the Service.",
)
ZONE_EVACUATIONS: Final = counter(
    "zonal_zone_evacuations_total",
    ("namespace", "service", "zone", "dry_run"),
    help="How often a worker began to leave a zone because its answers fail; in a dry run it would have.",
)
ENDPOINTS: Final = gauge(
    "zonal_endpoints",
    ("namespace", "service", "zone", "state"),
    help="Endpoints in the model (state: ready, draining, ejected)."
    " A Service without ready endpoints has `ready` 0 in the zone `unknown`.",
)
ZONE_DRAINED: Final = gauge(
    "zonal_zone_drained",
    ("zone",),
    help="Always 1, for each zone that zone-drain empties now.",
)
ACCESS_LOG_DROPPED: Final = counter(
    "zonal_access_log_dropped_total",
    help="Access log lines dropped because their reader was too slow or gone.",
)
SPANS_DROPPED: Final = counter(
    "zonal_spans_dropped_total",
    ("reason",),
    help="Spans dropped because too many waited (reason: queue_full) or their collector did not take them (not_sent).",
)
ERRORS: Final = counter(
    "zonal_errors_total",
    ("kind",),
    help="Errors while serving, by kind. `metrics_overflow` counts series that a full counter table could not take.",
)
CONNECTIONS: Final = gauge(
    "zonal_connections",
    ("state",),
    help="Open connections (state: client_active, client_idle, endpoint_active, endpoint_idle).",
)
HTTP2_CLIENTS: Final = gauge(
    "zonal_http2_clients",
    ("kind",),
    help="Open connections of clients that speak HTTP/2, and requests under way on them (kind: connections, streams).",
)
HTTP2_RESETS: Final = counter(
    "zonal_http2_resets_total",
    ("kind",),
    help="Requests of clients over HTTP/2 that were broken off: by the client before its answer was whole"
    " (kind: client), because it was malformed (malformed), amid its answer (cut), or because the clients of a"
    " worker left too much unread (unread).",
)
HTTP2_FLOODS: Final = counter(
    "zonal_http2_floods_total",
    ("kind",),
    help="Connections of clients over HTTP/2 that were closed because of a flood, by its kind: rapid_reset (the client"
    " resets), provoked_reset (it makes zonal reset), empty_data, continuation, or the type of the frames.",
)
DEAR_HANDSHAKES: Final = counter(
    "zonal_tls_dear_handshakes_total",
    ("host",),
    help="Handshakes of clients that took more than 20 ms of CPU time of a worker, by the host of an Ingress that they"
    " were for. The host is empty if they were for none.",
)
HOOK_SECONDS: Final = histogram(
    "zonal_hook_seconds", ("hook",), help="Time that calls of a hook took, with what they waited for."
)
HOOK_ERRORS: Final = counter(
    "zonal_hook_errors_total",
    ("hook", "outcome"),
    help="Calls of a hook without an answer: raised, timeout, invalid, overrun (its process is killed), unavailable.",
)
RETRIES: Final = counter(
    "zonal_retries_total",
    ("namespace", "service", "reason"),
    help="Further attempts after a failed attempt, by what failed.",
)
EJECTIONS: Final = counter(
    "zonal_ejections_total",
    ("namespace", "service"),
    help="Ejections of endpoints by a worker, after failures in a row, here or at other replicas, or a failed probe.",
)
WORKER_RESTARTS: Final = counter(
    "zonal_worker_restarts_total",
    help="Worker processes started to replace another one. The log says why the other one ended.",
)
EVENT_LOOP_LAG: Final = gauge(
    "zonal_event_loop_lag_seconds",
    help="Longest delay of any event loop, of workers and parent, in the last half minute.",
)
BUILD_INFO: Final = gauge(
    "zonal_build_info",
    ("version", "build"),
    help="Always 1. The labels are the running version and the build of the data plane: plain or compiled.",
)

DEFINITIONS: Final = (
    REQUESTS,
    RESPONSES,
    GRPC_RESPONSES,
    REQUEST_DURATION,
    ENDPOINT_DURATION,
    *STREAM_METRICS,
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
    *MODEL_METRICS,
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
    *WORKER_METRICS,
    *PARENT_METRICS,
    BUILD_INFO,
)
