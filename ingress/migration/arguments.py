"""Says what becomes of the arguments of ingress-nginx, and of the ports of its tcp-services.

One table. Source: ingress-nginx v1.15.1, pkg/flags/flags.go. Does not know where the arguments were read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import msgspec

from ingress.migration.controllers import OtherController
from ingress.migration.verdicts import NameReview, NameStanding
from ingress.settings.context import TranslationContext
from ingress.settings.unsupported import words

_SAME = words(
    """configmap default-backend-service default-ssl-certificate ingress-class controller-class election-id
    watch-namespace watch-ingress-without-class publish-service publish-status-address update-status
    update-status-on-shutdown election-ttl"""
)
_SATISFIED = words(
    """nginx-ingress-controller enable-metrics healthz-port http-port https-port profiling v logtostderr
    shutdown-grace-period post-shutdown-grace-period sync-period status-update-interval enable-topology-aware-routing
    ingress-class-by-name deep-inspect metrics-per-host report-node-internal-ip-address
    validating-webhook validating-webhook-certificate validating-webhook-key enable-annotation-validation
    exclude-socket-metrics status-port stream-port default-server-port internal-logger-address"""
)
_DIFFERS: Mapping[str, str] = {
    "watch-namespace-selector": "zonal takes names: --watch-namespace for each namespace",
    "annotations-prefix": "zonal reads annotations under nginx.ingress.kubernetes.io/ alone",
    "disable-catch-all": "zonal serves Ingresses without a host",
    "disable-full-test": "zonal has no configuration to test",
    "dynamic-configuration-retries": "zonal reloads nothing",
}
_TCP = "tcp-services-configmap"
_UDP = "udp-services-configmap"
_PASSTHROUGH = "enable-ssl-passthrough"


def argument_reviews(controller: OtherController, tcp: Mapping[str, str] | None) -> tuple[NameReview, ...]:
    """What becomes of each argument. `tcp` are the ports of its tcp-services, None if the dump lacks them."""
    return tuple(_reviewed(name, controller.get(name), tcp) for name in sorted(controller.arguments))


def with_arguments(
    context: TranslationContext,
    controller: OtherController,
    tcp: Mapping[str, str] | None = None,
    *,
    given: Collection[str] = (),
) -> TranslationContext:
    """`context` with what the controller runs with; where the controller says nothing, `context` counts.

    `tcp` are the ports of its tcp-services. Which of them will be bound, nobody has decided yet, so all are. `given`
    are fields of `context` that a person has said, so they count in any case.
    """
    said: dict[str, object] = {
        "ingress_class": controller.get("ingress-class"),
        "configmap": controller.get("configmap"),
        "default_ssl_certificate": controller.get("default-ssl-certificate"),
        "default_backend_service": controller.get("default-backend-service"),
        "watch_ingress_without_class": controller.get("watch-ingress-without-class") == "true",
        "enable_ssl_passthrough": controller.get(_PASSTHROUGH) == "true",
        "tcp_services_configmap": controller.get(_TCP),
        "tcp_ports": tuple((int(port), port) for port in tcp or () if port.isascii() and port.isdigit()),
        "watch_namespaces": tuple(filter(None, (controller.get("watch-namespace"),))),
    }
    return msgspec.structs.replace(
        context, **{name: value for name, value in said.items() if value and name not in given}
    )


def _reviewed(name: str, value: str, tcp: Mapping[str, str] | None) -> NameReview:
    standing, how = _standing(name, value, tcp)
    return NameReview(name=f"--{name}", value=value, standing=standing, how=how)


def _standing(name: str, value: str, tcp: Mapping[str, str] | None) -> tuple[NameStanding, str]:
    if name == _PASSTHROUGH and value != "false":
        return NameStanding.SAME, "sslPassthrough in the values of the chart"
    if name == _UDP:
        return NameStanding.REFUSED, "zonal serves no UDP, so have another program serve these ports"
    differs = " ".join(_of_ports(tcp)) if name == _TCP else _DIFFERS.get(name, "")
    if differs:
        return NameStanding.DIFFERS, differs
    if name in _SAME:
        return NameStanding.SAME, ""
    is_satisfied = name in _SATISFIED or name == _PASSTHROUGH
    return (NameStanding.SATISFIED, "") if is_satisfied else (NameStanding.IGNORED, "zonal has no such option")


def _of_ports(tcp: Mapping[str, str] | None) -> Iterator[str]:
    yield "set tcpServices in the values of the chart, or give zonal the same option and --gateway-ports PORT=BOUND,..."
    if tcp is None:
        yield "(the dump lacks the ConfigMap)"
    elif tcp:
        yield "(" + ", ".join(f"{port} to {target}" for port, target in sorted(tcp.items())) + ")"
