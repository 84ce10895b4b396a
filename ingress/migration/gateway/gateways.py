"""Makes the Gateway for moved Ingresses: a listener for each host and port, and who may attach to it.

Each host has a listener of its own, so that a request never falls through to a host with a star, as with Ingresses.
Beyond 64 listeners each namespace has ListenerSets. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from ingress.migration.moving import RawObject
from ingress.objects.gateway_references import GATEWAY_GROUP

_VERSION: Final = f"{GATEWAY_GROUP}/v1"
LISTENERS_MOST: Final = 64
"""The most listeners of a Gateway or ListenerSet."""
_NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"


class HostListeners(msgspec.Struct, frozen=True):
    """The listeners of a host: the namespaces whose routes attach, and the Secrets with its certificates, each
    `(namespace, name)`; none: it has no HTTPS.
    """

    host: str
    namespaces: tuple[str, ...]
    certificates: tuple[tuple[str, str], ...] = ()


class Doorway(msgspec.Struct, frozen=True):
    """Where routes of the hosts attach: the Gateway, and the ListenerSets by host if there are any."""

    gateway: tuple[str, str]
    sets: Mapping[str, tuple[str, str]] = {}

    def parent(self, host: str, scheme: str, namespace: str) -> RawObject:
        """The parentRef of a route in `namespace` to the listener of a host."""
        kind, owner = ("ListenerSet", self.sets[host]) if host in self.sets else ("Gateway", self.gateway)
        found: RawObject = {} if kind == "Gateway" else {"group": GATEWAY_GROUP, "kind": kind}
        if owner[0] != namespace:
            found["namespace"] = owner[0]
        return {**found, "name": owner[1], "sectionName": listener_name(host, scheme)}


def listener_name(host: str, scheme: str) -> str:
    """The name of the listener of a host."""
    return f"{scheme}-{host.replace('*', 'wildcard', 1)}" if host else scheme


def doorway_of(hosts: Mapping[str, HostListeners], gateway: tuple[str, str]) -> Doorway:
    """Where the hosts stand."""
    if sum(1 + bool(each.certificates) for each in hosts.values()) <= LISTENERS_MOST:
        return Doorway(gateway)
    sets: dict[str, tuple[str, str]] = {}
    filled: dict[str, tuple[int, int]] = {}
    for host, each in hosts.items():
        namespace, size = each.namespaces[0], 1 + bool(each.certificates)
        number, used = filled.get(namespace, (1, 0))
        number, used = (number + 1, size) if used + size > LISTENERS_MOST else (number, used + size)
        filled[namespace] = number, used
        sets[host] = namespace, gateway[1] if number == 1 else f"{gateway[1]}-{number}"
    return Doorway(gateway, sets)


def gateway_documents(hosts: Mapping[str, HostListeners], doorway: Doorway, class_name: str) -> list[RawObject]:
    """The GatewayClass, the Gateway, its ListenerSets, and the grants for certificates of other namespaces."""
    own = [each for host, each in hosts.items() if host not in doorway.sets]
    listeners = [each for host in own for each in _listeners(host, doorway.gateway[0])]
    spec: RawObject = {"gatewayClassName": class_name, "listeners": listeners or [_closed()]}
    if doorway.sets:
        spec["allowedListeners"] = {"namespaces": {"from": "All"}}
    found: list[RawObject] = [
        gateway_object("GatewayClass", "", class_name, {"controllerName": "zonal-ingress.io/controller"}),
        gateway_object("Gateway", *doorway.gateway, spec),
    ]
    by_set: dict[tuple[str, str], list[HostListeners]] = {}
    for host, place in doorway.sets.items():
        by_set.setdefault(place, []).append(hosts[host])
    parent = {"group": GATEWAY_GROUP, "kind": "Gateway", "namespace": doorway.gateway[0], "name": doorway.gateway[1]}
    for (namespace, name), members in sorted(by_set.items()):
        listeners = [each for host in members for each in _listeners(host, namespace)]
        found.append(gateway_object("ListenerSet", namespace, name, {"parentRef": parent, "listeners": listeners}))
    return [*found, *_grants(hosts, doorway)]


def showing(documents: list[RawObject], gateway: tuple[str, str], secret: tuple[str, str]) -> list[RawObject]:
    """`documents` with the certificate that the Gateway shows to endpoints, and the grant for its Secret."""
    namespace, name = secret
    reference = {"name": name, **({} if namespace == gateway[0] else {"namespace": namespace})}
    tls = {"tls": {"backend": {"clientCertificateRef": reference}}}
    found = [{**each, "spec": {**each["spec"], **tls}} if each["kind"] == "Gateway" else each for each in documents]
    if namespace != gateway[0]:
        spec = {
            "from": [{"group": GATEWAY_GROUP, "kind": "Gateway", "namespace": gateway[0]}],
            "to": [{"group": "", "kind": "Secret", "name": name}],
        }
        found.append(gateway_object("ReferenceGrant", namespace, f"{gateway[1]}-shown-certificate", spec))
    return found


def _listeners(item: HostListeners, namespace: str) -> Iterator[RawObject]:
    hostname = {"hostname": item.host} if item.host else {}
    allowed = {"allowedRoutes": {"namespaces": allowed_namespaces(item.namespaces, namespace)}}
    yield {"name": listener_name(item.host, "http"), "port": 80, "protocol": "HTTP", **hostname, **allowed}
    if item.certificates:
        references = [
            {"name": name, **({} if place == namespace else {"namespace": place})} for place, name in item.certificates
        ]
        tls = {"tls": {"mode": "Terminate", "certificateRefs": references}}
        yield {
            "name": listener_name(item.host, "https"), "port": 443, "protocol": "HTTPS", **hostname, **tls, **allowed
        }  # fmt: skip


def _closed() -> RawObject:
    """A Gateway needs a listener of its own. This one takes no routes but its own namespace's."""
    return {"name": "http", "port": 80, "protocol": "HTTP", "hostname": "gateway.invalid"}


def allowed_namespaces(namespaces: tuple[str, ...], own: str) -> RawObject:
    """From which namespaces routes may attach to a listener of an object in the namespace `own`."""
    if set(namespaces) <= {own}:
        return {"from": "Same"}
    if len(namespaces) == 1:
        return {"from": "Selector", "selector": {"matchLabels": {_NAMESPACE_LABEL: namespaces[0]}}}
    said = {"key": _NAMESPACE_LABEL, "operator": "In", "values": sorted(namespaces)}
    return {"from": "Selector", "selector": {"matchExpressions": [said]}}


def _grants(hosts: Mapping[str, HostListeners], doorway: Doorway) -> Iterator[RawObject]:
    """One grant for each namespace with certificates that a listener of another namespace shows."""
    asked: dict[str, dict[tuple[str, str, str], None]] = {}
    for host, each in hosts.items():
        kind, owner = ("ListenerSet", doorway.sets[host]) if host in doorway.sets else ("Gateway", doorway.gateway)
        for namespace, name in each.certificates:
            if namespace != owner[0]:
                asked.setdefault(namespace, {})[kind, owner[0], name] = None
    for namespace, references in sorted(asked.items()):
        sources = sorted({(kind, place) for kind, place, _ in references})
        names = sorted({name for _, _, name in references})
        spec = {
            "from": [{"group": GATEWAY_GROUP, "kind": kind, "namespace": place} for kind, place in sources],
            "to": [{"group": "", "kind": "Secret", "name": name} for name in names],
        }
        yield gateway_object("ReferenceGrant", namespace, f"{doorway.gateway[1]}-certificates", spec)


def gateway_object(kind: str, namespace: str, name: str, spec: RawObject) -> RawObject:
    """An object of Gateway API; without a namespace if that is empty."""
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": _VERSION, "kind": kind, "metadata": {"name": name, **place}, "spec": spec}
