"""Reads the ports that `--tcp-services-configmap` leads to Services: one line a port.

A line `PORT: "NAMESPACE/SERVICE:PORT[:PROXY[:PROXY]]"` is an entry point for TCP on a bound socket (`--gateway-ports`).
The first PROXY is read from clients, the second one is sent to endpoints. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from balancer.model.entry_points import EntryPoint, Protocol
from balancer.model.route_configurations import Listener, RouteConfiguration
from balancer.model.routes import Branch, Owner, ServiceName
from ingress.findings import Findings, Report, Severity, Subject, quote
from ingress.objects.kinds import ConfigMap, Kind, Service, ServicePortReference
from ingress.objects.names import LABEL
from ingress.settings.context import TranslationContext
from ingress.settings.gateway_ports import GatewayServices
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.values import InvalidValue
from ingress.sources.inventory import Inventory
from ingress.translation.claims import BranchClaim, RelayClaim
from ingress.translation.desired import EntryParts

_PROXY: Final = "PROXY"
_PORT_MOST: Final = 65535
_FORM: Final = "NAMESPACE/SERVICE:PORT, with :PROXY behind it where clients, and :PROXY again where endpoints, speak it"
_CLOSED: Final = "Connections to the port are not taken."


class TcpService(msgspec.Struct, frozen=True):
    """A line. `reads_proxy`: clients begin with a PROXY header. `sends_proxy`: connections to endpoints do."""

    port: int
    service: ServiceName
    service_port: ServicePortReference
    reads_proxy: bool = False
    sends_proxy: bool = False


def reserved_targets(own: Service | None, targets: Collection[int]) -> dict[int, int]:
    """The bound ports among `targets` to which the Service of zonal's own pods leads, by the port that clients see.

    They are for lines, and for no Gateway with a Service of its own.
    """
    if own is None:
        return {}
    return {
        each.port: each.target_port
        for each in own.spec.ports
        if each.protocol == "TCP" and isinstance(each.target_port, int) and each.target_port in targets
    }


def tcp_parts(
    inventory: Inventory, context: TranslationContext, settings: ClusterSettings, findings: Findings
) -> EntryParts:
    """An entry point, a route configuration, a listener and a relay claim for each line that can be carried out."""
    _note_udp(context, findings)
    parts = EntryParts()
    for key in context.tcp_config_maps:
        report = findings.about(Subject(Kind.CONFIG_MAP.value, *key))
        config_map = inventory.config_map(*key)
        if config_map is None:
            _note_missing(inventory, key, report)
            continue
        sockets = tcp_sockets(inventory, context)
        for line in tcp_lines(config_map, report):
            socket = sockets.get(line.port)
            if socket is None:
                _note_unbound(line.port, context, report)
            else:
                parts = parts.beside(_part(line, socket, key, settings))
    return parts


def tcp_sockets(inventory: Inventory, context: TranslationContext) -> Mapping[int, str]:
    """The names of bound sockets by the port that clients see."""
    services = context.gateway_services
    if services is None:
        return dict(context.tcp_ports)
    own = inventory.service(*context.own_service) if context.own_service is not None else None
    return {port: str(target) for port, target in reserved_targets(own, services.targets).items()}


def gateway_services(inventory: Inventory, context: TranslationContext) -> GatewayServices | None:
    """The Services of Gateways, without the bound ports that are reserved."""
    services = context.gateway_services
    own = inventory.service(*context.own_service) if context.own_service is not None else None
    if services is None or own is None:
        return services
    reserved = frozenset(reserved_targets(own, services.targets).values())
    left = tuple(each for each in services.targets if each not in reserved)
    return msgspec.structs.replace(services, targets=left) if reserved else services


def tcp_lines(config_map: ConfigMap, report: Report) -> tuple[TcpService, ...]:
    """The lines that can be read, by port. Each other one is a finding."""
    found: dict[int, TcpService] = {}
    for key in sorted(config_map.data):
        try:
            line = tcp_line(key, config_map.data[key])
        except InvalidValue as problem:
            message = f"The line {quote(f'{key}: {config_map.data[key]}')} cannot be read: {problem}."
            report.add(reason="TcpServiceInvalid", message=message, effect=_CLOSED, severity=Severity.CLOSED)
        else:
            found.setdefault(line.port, line)
    return tuple(found[port] for port in sorted(found))


def tcp_line(key: str, value: str) -> TcpService:
    """One line. Raises `InvalidValue`."""
    name, *rest = value.split(":")
    namespace, slash, service = name.partition("/")
    if not rest or not slash or not LABEL.fullmatch(namespace) or not LABEL.fullmatch(service):
        raise InvalidValue(f"use {_FORM}")
    port, *flags = rest
    flags += [""] * (2 - len(flags))
    if len(flags) > 2 or any(each.upper() not in ("", _PROXY) for each in flags):
        raise InvalidValue(f"use {_FORM}")
    reads_proxy, sends_proxy = (each.upper() == _PROXY for each in flags)
    reference = ServicePortReference(number=_number(port)) if port.isdigit() else ServicePortReference(name=port)
    if not LABEL.fullmatch(port):
        raise InvalidValue("name a port of the Service by its number or its name")
    return TcpService(_number(key), ServiceName(namespace, service), reference, reads_proxy, sends_proxy)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 0 < int(text) <= _PORT_MOST):
        raise InvalidValue(f"a port is a number between 1 and {_PORT_MOST}")
    return int(text)


def _part(line: TcpService, socket: str, config_map: tuple[str, str], settings: ClusterSettings) -> EntryParts:
    key = f"tcp:{line.port}"
    owner = Owner(Kind.CONFIG_MAP.value, *config_map)
    listener = f"{'/'.join((owner.kind, *config_map))}/{line.port}"
    relay = RelayClaim(
        "",
        owner,
        (BranchClaim(Branch(None, owner, line.service), line.service_port, http2=False),),
        connect_seconds=settings.route_policy.connect_timeout_seconds,
        tries=settings.route_policy.tries,
        configuration=key,
        listener=listener,
        sends_proxy_line=line.sends_proxy,
        closed=settings.closed,
    )
    return EntryParts(
        (EntryPoint(key, Protocol.TCP, line.port, socket, key, reads_proxy_header=line.reads_proxy),),
        (RouteConfiguration(key),),
        (Listener(listener, key, only_relays=True),),
        relays=(relay,),
    )


def _note_missing(inventory: Inventory, key: tuple[str, str], report: Report) -> None:
    if inventory.knows(Kind.CONFIG_MAP):
        message = f"There is no ConfigMap {'/'.join(key)}: create it, or name another by --tcp-services-configmap."
        report.add(
            reason="ConfigMapMissing", message=message, effect="None of its ports is open.", severity=Severity.CLOSED
        )


def _note_unbound(port: int, context: TranslationContext, report: Report) -> None:
    services = context.gateway_services
    if services is None:
        repair = f"add {port}=BOUND to --gateway-ports"
    elif context.publish_service is None:
        repair = "name the Service of zonal's own pods with --publish-service"
    else:
        first, last = min(services.targets), max(services.targets)
        repair = f"add port {port} to the Service {context.publish_service}, with a targetPort from {first} to {last}"
    message = f"No bound port stands for port {port}: {repair}."
    report.add(reason="PortUnavailable", message=message, effect=_CLOSED, severity=Severity.CLOSED)


def _note_udp(context: TranslationContext, findings: Findings) -> None:
    namespace, _, name = (context.udp_services_configmap or "").partition("/")
    if name:
        findings.add(
            Subject(Kind.CONFIG_MAP.value, namespace, name),
            reason="UdpNotServed",
            message="zonal serves no UDP: leave --udp-services-configmap out, and serve its ports by other means.",
            effect="None of its ports is open.",
            severity=Severity.CLOSED,
        )
