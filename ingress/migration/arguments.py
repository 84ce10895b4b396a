"""Says what becomes of the arguments of ingress-nginx, and of the ports of its tcp-services and udp-services.

One table. Source: ingress-nginx v1.15.1, pkg/flags/flags.go. Does not know where the arguments were read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

import msgspec

from ingress.findings import Finding, Severity, quote
from ingress.migration.controllers import OtherController
from ingress.migration.verdicts import NameReview, NameStanding
from ingress.settings.context import TranslationContext
from ingress.settings.table.option import NGINX_PREFIX
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
_PREFIX = "annotations-prefix"
_DEFAULTS: Mapping[str, str] = {_PREFIX: NGINX_PREFIX.rstrip("/"), "disable-catch-all": "false"}
_TCP = "tcp-services-configmap"
_UDP = "udp-services-configmap"
_PASSTHROUGH = "enable-ssl-passthrough"

PORTS: Final = (_TCP, _UDP)
"""The arguments that name a ConfigMap with a line for each port."""


class PortLines(msgspec.Struct, frozen=True):
    """The lines of the ConfigMaps for ports of TCP and of UDP, by port; None: nobody knows the ConfigMap."""

    tcp: Mapping[str, str] | None = None
    udp: Mapping[str, str] | None = None


NO_LINES: Final = PortLines()
"""Nobody knows the ConfigMaps."""


def argument_reviews(controller: OtherController, ports: PortLines) -> tuple[NameReview, ...]:
    """What becomes of each argument."""
    return tuple(_reviewed(name, controller.get(name), ports) for name in sorted(controller.arguments))


def argument_findings(controller: OtherController) -> Iterator[Finding]:
    """What is wrong with arguments that no other finding is about."""
    prefix = controller.get(_PREFIX)
    if prefix not in {"", _DEFAULTS[_PREFIX]}:
        yield Finding(
            kind=controller.kind,
            namespace=controller.namespace,
            name=controller.name,
            reason="AnnotationsUnread",
            message=f"--annotations-prefix is {quote(prefix)}, not {_DEFAULTS[_PREFIX]}: rename annotations.",
            effect="Requests are served, but annotations with this prefix have no effect.",
            severity=Severity.UNPROTECTED,
        )


def with_arguments(
    context: TranslationContext,
    controller: OtherController,
    ports: PortLines = NO_LINES,
    *,
    given: Collection[str] = (),
) -> TranslationContext:
    """`context` with what the controller runs with; where the controller says nothing, `context` counts.

    Which ports of TCP will be bound, nobody has decided yet, so all are. `given` are fields of `context` that a person
    has said, so they count in any case.
    """
    said: dict[str, object] = {
        "ingress_class": controller.get("ingress-class"),
        "configmap": controller.get("configmap"),
        "default_ssl_certificate": controller.get("default-ssl-certificate"),
        "default_backend_service": controller.get("default-backend-service"),
        "watch_ingress_without_class": controller.get("watch-ingress-without-class") == "true",
        "enable_ssl_passthrough": controller.get(_PASSTHROUGH) == "true",
        "tcp_services_configmap": controller.get(_TCP),
        "tcp_ports": tuple((int(port), port) for port in ports.tcp or () if port.isascii() and port.isdigit()),
        "udp_services_configmap": "" if ports.udp == {} else controller.get(_UDP),
        "watch_namespaces": tuple(filter(None, (controller.get("watch-namespace"),))),
    }
    return msgspec.structs.replace(
        context, **{name: value for name, value in said.items() if value and name not in given}
    )


def _reviewed(name: str, value: str, ports: PortLines) -> NameReview:
    standing, how = _standing(name, value, ports)
    return NameReview(name=f"--{name}", value=value, standing=standing, how=how)


def _standing(name: str, value: str, ports: PortLines) -> tuple[NameStanding, str]:
    if name == _PASSTHROUGH and value != "false":
        return NameStanding.SAME, "sslPassthrough in the values of the chart"
    if name == _UDP and ports.udp != {}:
        return NameStanding.REFUSED, "zonal serves no UDP, so have another program serve these ports"
    if value == _DEFAULTS.get(name):
        return NameStanding.SAME, ""
    differs = " ".join(_of_ports(ports.tcp)) if name == _TCP else _DIFFERS.get(name, "")
    if differs:
        return NameStanding.DIFFERS, differs
    if name in _SAME:
        return NameStanding.SAME, ""
    is_satisfied = name in _SATISFIED or name in {_PASSTHROUGH, _UDP}
    return (NameStanding.SATISFIED, "") if is_satisfied else (NameStanding.IGNORED, "zonal has no such option")


def _of_ports(tcp: Mapping[str, str] | None) -> Iterator[str]:
    yield "set tcpServices in the values of the chart, or give zonal the same option and --gateway-ports PORT=BOUND,..."
    if tcp is None:
        yield "(the dump lacks the ConfigMap)"
    elif tcp:
        yield "(" + ", ".join(f"{port} to {target}" for port, target in sorted(tcp.items())) + ")"
