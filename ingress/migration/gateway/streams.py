"""Moves what is no HTTP: hosts whose TLS passes become TLSRoutes, and lines of tcp-services TCPRoutes.

Both have listeners of their own at the Gateway. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from balancer.model.publication import RoutingModel
from ingress.findings import Findings
from ingress.migration.gateway.backends import BackendProblem, ServicePorts
from ingress.migration.gateway.gateways import LISTENERS_MOST, allowed_namespaces, gateway_object
from ingress.migration.moving import RawObject
from ingress.objects.gateway_references import GATEWAY_GROUP
from ingress.objects.kinds import ConfigMap, Ingress, IngressBackend, ServiceReference, key_of, subject_of
from ingress.translation.tcp_services import TcpService, tcp_lines

Key = tuple[str, str]

_ROOTS: Final = frozenset({"", "/"})


class MovedStreams(msgspec.Struct, frozen=True):
    """Routes of streams, each with the object that it was made of, and their listeners. `withheld` says of each line
    that is not written why, in a sentence.
    """

    routes: tuple[tuple[Key, RawObject], ...] = ()
    listeners: tuple[RawObject, ...] = ()
    withheld: tuple[str, ...] = ()


def passed_hosts(model: RoutingModel) -> dict[Key, tuple[str, ...]]:
    """The hosts whose TLS passes to endpoints, by the Ingress that says so. What is reset is left out."""
    found: dict[Key, list[str]] = {}
    for each in model.relays:
        is_passed = each.owner.kind == Ingress.kind.value and not each.ends_tls
        if is_passed and all(branch.backend is not None for branch in each.branches):
            found.setdefault((each.owner.namespace, each.owner.name), []).append(each.name)
    return {key: tuple(names) for key, names in found.items()}


def tls_routes(
    ingresses: Iterable[Ingress], passed: Mapping[Key, tuple[str, ...]], ports: ServicePorts, gateway: Key
) -> MovedStreams:
    """A TLSRoute for each Ingress with hosts that pass, to the Service of its path /."""
    routes: list[tuple[Key, RawObject]] = []
    listeners: list[RawObject] = []
    for each in ingresses:
        metadata = each.metadata
        for host in passed.get((metadata.namespace, metadata.name), ()):
            name = f"tls-{host.replace('*', 'wildcard', 1)}"
            reference = ports.reference(metadata.namespace, _root_of(each, host))
            spec = {"hostnames": [host], "rules": [{"backendRefs": [reference]}]}
            document = _route("TLSRoute", metadata.namespace, f"{metadata.name}-{name}", spec, (gateway, name))
            routes.append(((metadata.namespace, metadata.name), document))
            tls = {"hostname": host, "tls": {"mode": "Passthrough"}}
            listeners.append(_listener(name, 443, "TLS", tls, (metadata.namespace, gateway[0])))
    return MovedStreams(tuple(routes), tuple(listeners))


def tcp_routes(config_map: ConfigMap | None, ports: ServicePorts, gateway: Key) -> MovedStreams:
    """A TCPRoute for each line of a ConfigMap of ports, beside its Service."""
    if config_map is None:
        return MovedStreams()
    routes: list[tuple[Key, RawObject]] = []
    listeners: list[RawObject] = []
    withheld: list[str] = []
    findings = Findings()
    for line in tcp_lines(config_map, findings.about(subject_of(config_map))):
        problem = _problem(line)
        try:
            reference = ports.reference(line.service.namespace, _backend(line))
        except BackendProblem as error:
            problem = str(error)
        if problem:
            withheld.append(f"port {line.port}: {problem}.")
            continue
        name = f"tcp-{line.port}"
        spec = {"rules": [{"backendRefs": [reference]}]}
        document = _route("TCPRoute", line.service.namespace, name, spec, (gateway, name))
        routes.append((key_of(config_map), document))
        listeners.append(_listener(name, line.port, "TCP", {}, (line.service.namespace, gateway[0])))
    withheld += [each.message for each in findings.frozen()]
    return MovedStreams(tuple(routes), tuple(listeners), tuple(withheld))


def with_streams(
    documents: Iterable[RawObject], gateway: Key, streams: Iterable[MovedStreams]
) -> tuple[list[RawObject], list[MovedStreams]]:
    """The documents of a Gateway with the listeners of `streams`, and the streams with routes that name whoever has
    their listener: the Gateway, or ListenerSets if it has no room for all of them.
    """
    known, moved = list(documents), list(streams)
    added = [each for stream in moved for each in stream.listeners]
    found = next(each for each in known if each["kind"] == "Gateway")
    spec = found["spec"]
    if len(spec["listeners"]) + len(added) <= LISTENERS_MOST:
        changed = {**found, "spec": {**spec, "listeners": [*spec["listeners"], *added]}}
        return [changed if each is found else each for each in known], moved
    chunks = [added[begin : begin + LISTENERS_MOST] for begin in range(0, len(added), LISTENERS_MOST)]
    sets = {f"{gateway[1]}-streams{f'-{number}' if number > 1 else ''}": few for number, few in enumerate(chunks, 1)}
    opened = {**found, "spec": {**spec, "allowedListeners": {"namespaces": {"from": "All"}}}}
    beside = [_listener_set((gateway[0], name), gateway[1], listeners) for name, listeners in sets.items()]
    places = {each["name"]: name for name, listeners in sets.items() for each in listeners}
    moved = [
        msgspec.structs.replace(each, routes=tuple((key, _in_set(route, places)) for key, route in each.routes))
        for each in moved
    ]
    return [*(opened if each is found else each for each in known), *beside], moved


def _listener_set(key: Key, gateway: str, listeners: list[RawObject]) -> RawObject:
    """A ListenerSet beside its Gateway."""
    spec = {"parentRef": {"name": gateway}, "listeners": listeners}
    return gateway_object("ListenerSet", *key, spec)


def _in_set(route: RawObject, places: Mapping[str, str]) -> RawObject:
    """A route with its listener in a ListenerSet; `places` are their names by that of the listener."""
    (parent,) = route["spec"]["parentRefs"]
    own = {**parent, "group": GATEWAY_GROUP, "kind": "ListenerSet", "name": places[parent["sectionName"]]}
    return {**route, "spec": {**route["spec"], "parentRefs": [own]}}


def _problem(line: TcpService) -> str:
    """Why a line has no form; empty if it has."""
    if line.reads_proxy:
        return "clients begin with a PROXY header, which no field of a listener says: keep the line"
    if line.sends_proxy:
        return "endpoints get a PROXY header of version 1, for which nothing stands: keep the line"
    return ""


def _backend(line: TcpService) -> IngressBackend:
    return IngressBackend(service=ServiceReference(line.service.name, line.service_port))


def _root_of(ingress: Ingress, host: str) -> IngressBackend:
    for rule in ingress.spec.rules or ():
        for each in rule.http.paths if rule.http is not None and rule.host.lower() == host else ():
            if each.path in _ROOTS:
                return each.backend
    assert ingress.spec.default_backend is not None, "a host passes to the Service of its path /"
    return ingress.spec.default_backend


def _route(kind: str, namespace: str, name: str, spec: RawObject, at: tuple[Key, str]) -> RawObject:
    (owner, gateway), section = at
    parent = {**({} if owner == namespace else {"namespace": owner}), "name": gateway, "sectionName": section}
    return gateway_object(kind, namespace, name, {"parentRefs": [parent], **spec})


def _listener(name: str, port: int, protocol: str, more: RawObject, places: tuple[str, str]) -> RawObject:
    namespace, own = places
    allowed = {"allowedRoutes": {"namespaces": allowed_namespaces((namespace,), own)}}
    return {"name": name, "port": port, "protocol": protocol, **more, **allowed}
