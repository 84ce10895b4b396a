"""The metrics of ingress-nginx that zonal can provide: names, labels and buckets as in ingress-nginx v1.15.1.

Source: internal/ingress/metric/collectors, and the boards of deploy/grafana/dashboards. Does not know how metrics are
counted or rendered.
"""

from __future__ import annotations

from typing import Final

from balancer.metrics.kinds import Definition, MetricKind

_PREFIX: Final = "nginx_ingress_controller_"
_CONTROLLER: Final = ("controller_class", "controller_namespace", "controller_pod")
REQUEST_LABELS: Final = ("status", "method", "path", "namespace", "ingress", "service", "canary")
"""The labels of one request. `path` is that of the Ingress. `host` is missing, as with `--metrics-per-host=false`."""

# Whole numbers, because client_golang writes them without a fraction.
_TIME: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_LENGTH: Final = tuple(range(10, 101, 10))
_SIZE: Final = tuple(10**power for power in range(1, 8))


def _counted(name: str, kind: MetricKind, help: str, buckets: tuple[float, ...] = ()) -> Definition:
    return Definition(_PREFIX + name, kind, (*_CONTROLLER, *REQUEST_LABELS), help, buckets)


def _told(name: str, kind: MetricKind, help: str, *labels: str) -> Definition:
    return Definition(_PREFIX + name, kind, (*_CONTROLLER, *labels), help)


_COUNTER, _GAUGE, _HISTOGRAM = MetricKind.COUNTER, MetricKind.GAUGE, MetricKind.HISTOGRAM

REQUESTS: Final = _counted("requests", _COUNTER, "Requests.")
REQUEST_SECONDS: Final = _counted(
    "request_duration_seconds", _HISTOGRAM, "From the end of the head to the end of the answer.", _TIME
)
RESPONSE_SECONDS: Final = _counted(
    "response_duration_seconds", _HISTOGRAM, "Time that the endpoint took, of requests with one attempt.", _TIME
)
REQUEST_SIZE: Final = _counted("request_size", _HISTOGRAM, "Bytes of request heads and bodies.", _LENGTH)
RESPONSE_SIZE: Final = _counted("response_size", _HISTOGRAM, "Bytes of response bodies.", _LENGTH)
BYTES_SENT: Final = _counted("bytes_sent", _HISTOGRAM, "Bytes of response bodies.", _SIZE)

COUNTED: Final = (REQUESTS, REQUEST_SECONDS, RESPONSE_SECONDS, REQUEST_SIZE, RESPONSE_SIZE, BYTES_SENT)
"""The metrics that workers count, request by request."""

UPSTREAM_LATENCY: Final = Definition(
    _PREFIX + "ingress_upstream_latency_seconds",
    MetricKind.SUMMARY,  # without quantiles; older versions of ingress-nginx had it
    (*_CONTROLLER, "namespace", "ingress", "service"),
    "Time that endpoints took.",
)
CONNECTIONS: Final = _told("nginx_process_connections", _GAUGE, "Connections of clients.", "state")
REQUESTS_TOTAL: Final = _told("nginx_process_requests_total", _COUNTER, "Requests of clients.")
PROCESSES: Final = _told("nginx_process_num_procs", _GAUGE, "Processes, the parent included.")
CPU_SECONDS: Final = _told("nginx_process_cpu_seconds_total", _COUNTER, "CPU time of all processes.")
MEMORY: Final = _told("nginx_process_resident_memory_bytes", _GAUGE, "Resident memory of all processes.")
VIRTUAL_MEMORY: Final = _told("nginx_process_virtual_memory_bytes", _GAUGE, "Virtual memory of the parent.")
OLDEST_START: Final = _told("nginx_process_oldest_start_time_seconds", _GAUGE, "Unix time when the parent started.")
BUILD: Final = _told("build_info", _GAUGE, "Always 1.", "release", "build", "repository")
CONFIG_HASH: Final = _told("config_hash", _GAUGE, "The generation of the publication in use.")
RELOAD_WELL: Final = _told("config_last_reload_successful", _GAUGE, "1 from the first publication on.")
RELOADED_AT: Final = _told(
    "config_last_reload_successful_timestamp_seconds", _GAUGE, "Unix time of the publication in use."
)
SUCCESS: Final = _told("success", _COUNTER, "Publications.")
FAILURES: Final = _told("errors", _COUNTER, "Always 0, because zonal reloads nothing.")
ORPHANS: Final = _told(
    "orphan_ingress", _GAUGE, "Whether an Ingress names a Service that is missing, or has no endpoint.",
    "namespace", "ingress", "type",
)  # fmt: skip
EXPIRY: Final = Definition(
    _PREFIX + "ssl_expire_time_seconds",
    _GAUGE,
    ("namespace", "class", "host", "secret_name", "identifier"),
    "Unix time when the certificate of a host expires.",
)

# Far from the numbers of zonal's own metrics, which count from 0.
_FIRST_NUMBER: Final = 1000
NUMBERS: Final = {definition.name: _FIRST_NUMBER + place for place, definition in enumerate(COUNTED)}
"""The number of each counted metric in a slot table. Writer and reader must be of the same version."""
