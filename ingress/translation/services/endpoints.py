"""Makes the endpoints of a Service port: the union of its slices, one entry per address and port.

Decides which addresses may be used and what their conditions mean. Does not know zone policies or routes.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

import msgspec

from balancer.model.addresses import is_forbidden_endpoint, is_public
from balancer.model.endpoints import Endpoint
from balancer.model.zones import Zone
from ingress.findings import Findings, Report, Severity, quote
from ingress.objects.endpoint_hints import EndpointHints
from ingress.objects.kinds import EndpointSlice, Service, ServicePort, SliceEndpoint, subject_of
from ingress.objects.names import SUBDOMAIN
from ingress.sources.inventory import Inventory
from ingress.translation.cluster.zones import checked_zone, labels_of, zone_of

_FAMILIES = ("IPv4", "IPv6")
_IS_LOCAL = "is a loopback, link-local, multicast, reserved or metadata address"

_NO_HINTS = EndpointHints()


class _Entry(msgspec.Struct, frozen=True, order=True):
    """Sorts the entry to keep first: running before terminating, ready before not ready.

    The texts make the choice among equals independent of the order of slices.
    """

    terminating: bool
    not_ready: bool
    not_serving: bool
    zone: str
    node: str
    hint_zones: tuple[str, ...]
    hint_nodes: tuple[str, ...]


def endpoints_of(
    service: Service, port: ServicePort, *, inventory: Inventory, allow_local: bool, findings: Findings
) -> tuple[Endpoint, ...]:
    """Endpoints that are ready, or serving while they terminate, sorted by address and port.

    Only slices of the Service's first IP family count. Addresses that no pod can have (`is_forbidden_endpoint`) are
    refused unless `allow_local`, because a tenant who can write slices must not reach into this pod or
    its cloud.
    """
    slices = inventory.slices(service.metadata.namespace, service.metadata.name)
    family = family_of(service, slices)
    entries: dict[tuple[str, int], _Entry] = {}
    for item in slices:
        if item.address_type != family:
            continue
        for number in port_numbers(item, port):
            for address, entry in _entries(item, inventory=inventory, allow_local=allow_local, findings=findings):
                known = entries.get((address, number))
                entries[address, number] = entry if known is None else min(known, entry)
    return tuple(sorted(_models(entries), key=lambda endpoint: (endpoint.address, endpoint.port)))


def placed_on_nodes(
    endpoints: tuple[Endpoint, ...], keys: Collection[str], inventory: Inventory
) -> tuple[Endpoint, ...]:
    """`endpoints` with the labels of their Nodes that have these `keys`, and whether the Node is going away."""
    return tuple(_placed(endpoint, keys, inventory) for endpoint in endpoints)


def _placed(endpoint: Endpoint, keys: Collection[str], inventory: Inventory) -> Endpoint:
    node = inventory.node(endpoint.node) if endpoint.node else None
    labels, leaving = labels_of(node, keys) if keys else (), node is not None and node.leaving
    return msgspec.structs.replace(endpoint, labels=labels, leaving=leaving) if labels or leaving else endpoint


def service_endpoint(service: Service, port: ServicePort, *, allow_local: bool, report: Report) -> Endpoint | None:
    """The Service itself as an endpoint: its clusterIP and port, of unknown zone. The cluster balances behind it.

    None, with a finding, for a headless Service and for an address that may not be used.
    """
    text = service.spec.cluster_ip
    address, problem = _judge(text, "IPv6" if ":" in text else "IPv4")
    if not address or (problem and not allow_local):
        report.add(
            reason="NoClusterIP",
            message=f"service-upstream needs a clusterIP, and {quote(text)} is none that can be used: give the Service"
            " one, or remove service-upstream.",
            severity=Severity.DEGRADED,
            effect="The endpoints of the Service are used.",
        )
        return None
    return Endpoint(address=address, port=port.port)


def external_endpoints(
    addresses: Iterable[str], port: ServicePort, *, allow_local: bool, report: Report
) -> tuple[Endpoint, ...]:
    """The addresses of a DNS name outside of the cluster as endpoints of unknown zone, sorted.

    Only public addresses, unless `allow_local`, because a tenant who can name a Service must not reach into the network
    of this pod.
    """
    endpoints = []
    for text in addresses:
        address, problem = _judge(text, "IPv6" if ":" in text else "IPv4")
        if address and not problem and not is_public(ipaddress.ip_address(address)):
            problem = "is not a public address"
        if problem and not (allow_local and address):
            report.add(
                reason="EndpointRefused",
                message=f"Address {quote(text)} {problem}: name something else.",
                severity=Severity.DEGRADED,
                effect="The endpoint is not used.",
            )
        else:
            endpoints.append(Endpoint(address=address, port=port.port))
    return tuple(sorted(set(endpoints), key=lambda endpoint: (endpoint.address, endpoint.port)))


def family_of(service: Service, slices: Iterable[EndpointSlice]) -> str | None:
    """The addressType of the slices that count: the Service's first IP family, else IPv4 before IPv6."""
    if service.spec.ip_families:
        return service.spec.ip_families[0]
    present = {item.address_type for item in slices}
    return next((family for family in _FAMILIES if family in present), None)


def port_numbers(item: EndpointSlice, port: ServicePort) -> Iterator[int]:
    """The port numbers of a slice that belong to a Service port: TCP, and of the same name (discovery/v1)."""
    for candidate in item.ports:
        # Port 0 and null mean every port. No connection can be made to that.
        number = candidate.port or 0
        if 1 <= number <= 65535 and candidate.name == port.name and candidate.protocol == "TCP":
            yield number


def _entries(
    item: EndpointSlice, *, inventory: Inventory, allow_local: bool, findings: Findings
) -> Iterator[tuple[str, _Entry]]:
    report = findings.about(subject_of(item))
    for endpoint in item.endpoints:
        address, problem = _judge(endpoint.addresses[0] if endpoint.addresses else "", item.address_type)
        if problem and not (allow_local and address):
            _refuse(endpoint, problem, report=report)
        else:
            yield address, _entry(endpoint, inventory, report=report)


def _entry(endpoint: SliceEndpoint, inventory: Inventory, *, report: Report) -> _Entry:
    conditions = endpoint.conditions
    node = endpoint.node_name if SUBDOMAIN.fullmatch(endpoint.node_name) else ""
    zone = endpoint.zone or (zone_of(inventory.node(node)) if node else None)
    hints = _hints(endpoint, report)
    return _Entry(
        terminating=bool(conditions.terminating),
        not_ready=conditions.ready is False,
        not_serving=conditions.serving is False,
        zone=checked_zone(zone, report) or "",
        node=node,
        hint_zones=hints.zones,
        hint_nodes=hints.nodes,
    )


def _hints(endpoint: SliceEndpoint, report: Report) -> EndpointHints:
    hints = endpoint.hints
    if not isinstance(hints, EndpointHints):
        return _NO_HINTS
    if hints.malformed:
        report.add(
            reason="InvalidHints",
            message=f"The hints of {quote(endpoint.addresses[0])} are not valid: correct or remove them.",
            severity=Severity.DEGRADED,
            effect="The endpoint counts as one without hints.",
        )
    return hints


def _models(entries: dict[tuple[str, int], _Entry]) -> Iterator[Endpoint]:
    for (address, port), entry in entries.items():
        ready = not entry.not_ready
        # KEP-1669: such an endpoint may be used if nothing is ready.
        serving_terminating = entry.not_ready and entry.terminating and not entry.not_serving
        if ready or serving_terminating:
            yield Endpoint(
                address=address,
                port=port,
                zone=Zone(entry.zone) if entry.zone else None,
                node=entry.node or None,
                ready=ready,
                serving_terminating=serving_terminating,
                hint_zones=tuple(map(Zone, entry.hint_zones)),
                hint_nodes=entry.hint_nodes,
            )


@lru_cache(maxsize=4096)
def _judge(text: str, address_type: str) -> tuple[str, str | None]:
    """The canonical form of `text`, empty if that is no `address_type`, and why it is refused; None if it is not.

    Cached, because the addresses of a Service come back with every change of its slices.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return "", "is not an IP address"
    if getattr(address, "scope_id", None) is not None:
        return "", "has a scope, which means nothing on another host"
    if f"IPv{address.version}" != address_type:
        return "", f"is not of the slice's addressType {quote(address_type)}"
    canonical = str(address)
    if canonical == text:
        canonical = text  # one string less for each of thousands of endpoints
    if is_forbidden_endpoint(address):
        return canonical, _IS_LOCAL
    return canonical, None


def _refuse(endpoint: SliceEndpoint, problem: str, *, report: Report) -> None:
    address = endpoint.addresses[0] if endpoint.addresses else ""
    instead = ", or permit it by --allow-local-endpoints" if problem == _IS_LOCAL else ""
    report.add(
        reason="EndpointRefused",
        message=f"Address {quote(address)} {problem}: correct the slice{instead}.",
        severity=Severity.DEGRADED,
        effect="The endpoint is not used.",
    )
