"""Options about how a backend keeps its endpoints well and loaded.

Responsible for the options, for the struct that they fill and for putting it into a `Backend`. It must not know which
source sets an option.
"""

from __future__ import annotations

import msgspec

from balancer.model.endpoints import Backend, Ejection, HealthCheck, LoadBalancing
from ingress.findings import Severity
from ingress.settings.request_values import check_fields, check_host, check_path
from ingress.settings.table.option import (
    OWN_PREFIX,
    Option,
    OptionSource,
    Overrides,
    backend_option,
    route_option,
    route_switch,
)
from ingress.settings.unsupported import Loss
from ingress.settings.values import boolean, duration, integer, load_balancing, percent, proxy_header


class BackendSettings(msgspec.Struct, frozen=True):
    """Most are the fields of a `Backend` by the same names; `health_check` with an empty path is none.

    `service_upstream`: the clusterIP of the Service is the only endpoint.
    """

    load_balancing: LoadBalancing = LoadBalancing.ROUND_ROBIN
    ejection: Ejection = Ejection()
    health_check: HealthCheck = HealthCheck(path="")
    max_concurrency: int = 0
    max_concurrency_per_endpoint: int = 0
    panic_percent: int = 50
    service_upstream: bool = False
    sends_proxy_header: bool = False

    def overridden(self, overrides: Overrides) -> BackendSettings:
        """These settings with what another source sets, field by field."""
        return overrides.throughout(self)

    def _check_of(self, backend: Backend) -> HealthCheck:
        check = self.health_check
        return msgspec.structs.replace(check, http2=backend.http2 or check.path.startswith("grpc"))

    def applied(self, backend: Backend) -> Backend:
        """`backend` with these settings."""
        return msgspec.structs.replace(
            backend,
            load_balancing=self.load_balancing,
            ejection=self.ejection,
            health_check=self._check_of(backend) if self.health_check.path else None,
            max_concurrency=self.max_concurrency,
            max_concurrency_per_endpoint=self.max_concurrency_per_endpoint,
            panic_percent=self.panic_percent,
            sends_proxy_header=self.sends_proxy_header,
        )


BACKEND_OPTIONS = (
    route_option(
        name="load-balance",
        fills=(BackendSettings, "load_balancing"),
        grammar=load_balancing,
        default="round_robin",
        doc="`round_robin`, or the better of two random endpoints: `least_request` by requests in flight, `ewma` by"
        " latency too",
    ),
    Option(
        name="send-proxy-protocol",
        sources=frozenset({OptionSource.SERVICE}),
        prefix=OWN_PREFIX,
        fills=(BackendSettings, "sends_proxy_header"),
        grammar=proxy_header,
        doc="`v2`: streams (TCP, or TLS without HTTP) to the endpoints begin with a PROXY header of version 2, which"
        " says the address of the client. Requests of HTTP say it in `X-Forwarded-For` as ever",
        if_invalid=Loss(Severity.DEGRADED, "streams begin without a header"),
    ),
    route_switch(
        name="service-upstream",
        fills=(BackendSettings, "service_upstream"),
        doc="one endpoint for each backend: the Service's clusterIP, of unknown zone",
        doc_on_ingress="holds for the backend, and the oldest Ingress that names it decides",
    ),
    backend_option(
        name="ejection-consecutive-errors",
        fills=(Ejection, "consecutive_errors"),
        grammar=integer(0),
        default="5",
        doc="number of failures in a row that eject an endpoint; `0` never ejects",
    ),
    backend_option(
        name="ejection-5xx",
        fills=(Ejection, "on_5xx"),
        grammar=boolean,
        default="false",
        doc="whether 5xx answers count as failures in a row, and the gRPC statuses that mean the same",
    ),
    backend_option(
        name="ejection-failure-percent",
        fills=(Ejection, "failure_percent"),
        grammar=percent,
        default="10",
        doc="points of percent by which an endpoint's share of failures must exceed that of the backend's other"
        " endpoints, beyond what chance explains, to eject it; `0` never does, and ignores `Retry-After`",
    ),
    backend_option(
        name="ejection-time",
        fills=(Ejection, "seconds"),
        grammar=duration,
        default="10s",
        doc="time of an ejection, multiplied by the number of ejections so far (at most 3); then one probe request"
        " decides",
    ),
    backend_option(
        name="ejection-max-percent",
        fills=(Ejection, "max_percent"),
        grammar=percent,
        default="50",
        doc="percent of a backend's endpoints that may be ejected at a time; one of several always may, unless it is"
        " `0`",
    ),
    backend_option(
        name="health-check-path",
        fills=(HealthCheck, "path"),
        grammar=check_path,
        doc="a path asked by GET, well with 200 to 399; `tcp` only connects; `grpc` or `grpc:service` asks the health"
        " protocol of gRPC, well with SERVING; empty is off. TLS and HTTP/2 as for requests",
    ),
    backend_option(
        name="health-check-interval",
        fills=(HealthCheck, "interval_seconds"),
        grammar=duration,
        default="5s",
        doc="time between two checks of an endpoint, a tenth more or less",
    ),
    backend_option(
        name="health-check-timeout",
        fills=(HealthCheck, "timeout_seconds"),
        grammar=duration,
        default="2s",
        doc="time limit of one check",
    ),
    backend_option(
        name="health-check-threshold",
        fills=(HealthCheck, "threshold"),
        grammar=integer(1),
        default="3",
        doc="number of failed checks in a row that make an endpoint unhealthy; one passed check makes it healthy",
    ),
    backend_option(
        name="health-check-host",
        fills=(HealthCheck, "host"),
        grammar=check_host,
        doc="Host of checks: a name, or a name and a port; empty is the endpoint's address and port",
    ),
    backend_option(
        name="health-check-headers",
        fills=(HealthCheck, "fields"),
        grammar=check_fields,
        doc="header fields of checks, `Name: value`, one on each line, at most 20",
    ),
    backend_option(
        name="max-concurrency-per-endpoint",
        fills=(BackendSettings, "max_concurrency_per_endpoint"),
        grammar=integer(0),
        default="0",
        doc="requests in flight to one endpoint in a worker; `0` is unlimited. An endpoint at its limit is passed over",
    ),
    backend_option(
        name="max-concurrency",
        fills=(BackendSettings, "max_concurrency"),
        grammar=integer(0),
        default="0",
        doc="requests in flight to a backend in a worker; further requests get 503 at once",
    ),
    backend_option(
        name="zone-panic-threshold",
        fills=(BackendSettings, "panic_percent"),
        grammar=percent,
        default="50",
        doc="percent: with a smaller share of healthy endpoints the zone is left; with a smaller share of all, health"
        " is"
        " ignored",
    ),
)
