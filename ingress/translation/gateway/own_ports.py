"""Where the ports of Gateways stand that have Services of their own: on which bound port, at which address, or why not.

A port stands where the register says (`register`), or where this replica is about to register it. Two Gateways never
share a bound port. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import Final

import msgspec

from ingress.objects.gateway import Gateway
from ingress.objects.kinds import PublishedAddress, Service
from ingress.settings.gateway_ports import GatewayServices
from ingress.sources.events import BoundPort, Provisioned
from ingress.translation.gateway.listeners import ReadListener
from ingress.translation.gateway.register import GatewayKey, Register, service_name
from ingress.translation.gateway.standings import Address, Problem

_PORT_ANY: Final = range(1, 65536)
_UNDIVIDED: Final = 16
"""So many bound ports a namespace may have whatever others have: small ranges are for whoever comes first."""
_RESERVE: Final = 8
"""One in so many bound ports is kept for namespaces with fewer than `_UNDIVIDED`."""


class ExposedPort(msgspec.Struct, frozen=True):
    """A port of a Gateway that listeners have. `target` is the bound port that serves it; 0: none yet."""

    port: int
    protocol: str
    target: int = 0


class Exposure(msgspec.Struct, frozen=True):
    """What the Service of a Gateway should be. `external_ips` are the addresses that it asks for and may have.

    `uid` is that of the Gateway; empty if it has none, as in a folder.
    """

    gateway: GatewayKey
    ports: tuple[ExposedPort, ...] = ()
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    external_ips: tuple[str, ...] = ()
    uid: str = ""


class OwnPorts:
    """The places of all Gateways."""

    __slots__ = ("_allowed", "_options", "_places", "_provisioned", "_register")

    def __init__(
        self,
        options: GatewayServices,
        register: Register,
        provisioned: Provisioned,
        wanted: Iterable[tuple[GatewayKey, int]],
    ) -> None:
        """`wanted` are the ports of all listeners, the oldest Gateway first. No more than are bound can be opened, and
        beyond a few a namespace gets none of the last ones, which are for others. What is registered stays.
        """
        self._options = options
        self._register = register
        self._provisioned = provisioned
        taken = register.targets
        planned = {((each.namespace, each.name), each.port): each for each in provisioned.ports}
        self._places: dict[tuple[GatewayKey, int], BoundPort] = {
            place: each for place, each in planned.items() if each.target not in taken
        } | dict(register.ports)
        asked = dict.fromkeys(wanted)
        first = [place for place in asked if place in register.ports]
        others = [place for place in asked if place not in register.ports]
        self._allowed = _divided(first, others, len(options.targets))

    def openable(self) -> range:
        """The ports that a listener may have as far as it alone is concerned."""
        return _PORT_ANY

    def placed(self, item: ReadListener) -> ReadListener:
        """The listener with its place, or with why it has none."""
        place = (item.gateway, item.spec.port)
        if item.refused is None and place not in self._allowed:
            message = f"{self._exhausted(item.gateway[0])}: give a wider range with --gateway-ports."
            return msgspec.structs.replace(item, refused=Problem("PortUnavailable", message))
        bound = self._places.get(place)
        return msgspec.structs.replace(
            item,
            socket=str(bound.target) if bound is not None else "",
            configuration=_configuration(*place),
            pending=None if place in self._register.ports else self._pending(item.gateway),
        )

    def _exhausted(self, namespace: str) -> str:
        """Why there is no bound port for a Gateway of a namespace."""
        most = len(self._options.targets)
        if len(self._allowed) >= most:
            return f"All {most} bound ports are in use"
        own = sum(gateway[0] == namespace for gateway, _ in self._allowed)
        return f"Gateways of {namespace} have {own} of {most} bound ports, and others may need the rest"

    def left_over(self, used: Iterable[ReadListener]) -> tuple[BoundPort, ...]:
        """The places that clients may still come to although no listener has them any more."""
        present = {(each.gateway, each.spec.port) for each in used}
        return tuple(sorted(each for place, each in self._places.items() if place not in present))

    def exposure(self, gateway: Gateway, listeners: Iterable[ReadListener]) -> Exposure:
        """What the Service of a Gateway should be, for those of its `listeners` that are open."""
        key = (gateway.metadata.namespace, gateway.metadata.name)
        ports = {each.spec.port: each for each in listeners}
        infrastructure = gateway.spec.infrastructure
        return Exposure(
            key,
            tuple(
                ExposedPort(port, each.spec.protocol.lower(), int(each.socket or 0))
                for port, each in sorted(ports.items())
            ),
            infrastructure.labels,
            infrastructure.annotations,
            tuple(sorted({each.value for each in gateway.spec.addresses if self._may_have(each.value)})),
            gateway.metadata.uid,
        )

    def addresses(self, gateway: Gateway) -> tuple[tuple[Address, ...], Problem | None]:
        """Where clients reach a Gateway, and why it cannot be reached as it asks."""
        key = (gateway.metadata.namespace, gateway.metadata.name)
        service = self._register.services.get(key)
        if service is None:
            return (), self._pending(key)
        found = self._addresses_of(service)
        place = f"{self._options.namespace}/{service.metadata.name}"
        if not found:
            return (), Problem("AddressNotAssigned", f"The Service {place} has no address yet.")
        missing = missing_address(gateway, found, f"the Service {place} has", "--gateway-external-ips allows it")
        return asked_addresses(gateway, found), missing

    def _addresses_of(self, service: Service) -> tuple[Address, ...]:
        """In this order: what a load balancer gave, externalIPs, nodes, the cluster's own address."""
        balanced = service.status.load_balancer.ingress
        if balanced or service.spec.external_ips:
            given = tuple(PublishedAddress(ip=each) for each in service.spec.external_ips)
            return written((*balanced, *given))
        if service.spec.type == "NodePort":
            return written(self._provisioned.addresses or ())
        own = service.spec.cluster_ip
        return (Address("IPAddress", own),) if service.spec.type == "ClusterIP" and own not in ("", "None") else ()

    def _may_have(self, text: str) -> bool:
        try:
            address = ip_address(text)
        except ValueError:
            return False
        return any(address in network for network in self._options.external_networks)

    def _pending(self, gateway: GatewayKey) -> Problem:
        place = f"{self._options.namespace}/{service_name(gateway)}"
        problem = self._provisioned.problem
        said = f"It waits for the Service {place}{f': {problem}' if problem else '.'}"
        return Problem("Pending", said)


def _divided(
    first: Sequence[tuple[GatewayKey, int]], others: Iterable[tuple[GatewayKey, int]], most: int
) -> frozenset[tuple[GatewayKey, int]]:
    """The places that are allowed: the `first`, and of the `others` those that leave a reserve for other namespaces.

    A cluster with one namespace of Gateways can so use nearly all of `most`.
    """
    allowed = [*first[:most]]
    held = Counter(gateway[0] for gateway, _ in allowed)
    for place in others:
        free = most - len(allowed)
        if free and (held[place[0][0]] < _UNDIVIDED or free > most // _RESERVE):
            allowed.append(place)
            held[place[0][0]] += 1
    return frozenset(allowed)


def asked_addresses(gateway: Gateway, found: tuple[Address, ...]) -> tuple[Address, ...]:
    """The addresses `found` that a Gateway asks for. If it asks for none of them, all."""
    asked = {each.value for each in gateway.spec.addresses}
    return tuple(each for each in found if each.value in asked) or found


def missing_address(gateway: Gateway, found: Iterable[Address], who: str, unless: str) -> Problem | None:
    """The problem that a Gateway asks for an address that is not among those `found`; None if it does not."""
    known = {each.value for each in found}
    missing = sorted({each.value for each in gateway.spec.addresses if each.value} - known)
    if not missing:
        return None
    return Problem("AddressNotUsable", f"The address {missing[0]} is none that {who}: remove it, unless {unless}.")


def written(addresses: Iterable[PublishedAddress]) -> tuple[Address, ...]:
    """Addresses as statuses of Gateways name them, sorted. An entry of a load balancer may have neither: it is none."""
    named = {
        Address("IPAddress", each.ip) if each.ip else Address("Hostname", each.hostname)
        for each in addresses
        if each.ip or each.hostname
    }
    return tuple(sorted(named, key=lambda each: (each.type, each.value)))


def _configuration(gateway: GatewayKey, port: int) -> str:
    """The key of the route configuration of a port."""
    namespace, name = gateway
    return f"gateway:{namespace}/{name}:{port}"


def left_over_configuration(item: BoundPort) -> str:
    """The key of the route configuration of a place without listeners."""
    return _configuration((item.namespace, item.name), item.port)
