"""A cluster of Gateway API as documents: Gateways, ListenerSets, HTTPRoutes and their Services, the same every time.

Responsible for what the cluster looks like and for the change of one route. It must not know who stores it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from tests.bench.control.cluster import address_of
from tests.integration.manifests import Document, config_map, service

FIRST_PORT = 8001
"""The port of the first Gateway in its manifest; each has its own."""

NAMESPACE = "infra"
"""The namespace of the Gateways."""

_VERSION = "gateway.networking.k8s.io/v1"
_EVERYBODY = {"namespaces": {"from": "All"}}


class RouteShape(msgspec.Struct, frozen=True, kw_only=True):
    """How large. Every second route is attached to a ListenerSet, the others to a Gateway."""

    routes: int = 5000
    gateways: int = 20
    listener_sets: int = 500
    namespaces: int = 50


def ports_of(shape: RouteShape) -> range:
    """The ports of the Gateways."""
    return range(FIRST_PORT, FIRST_PORT + shape.gateways)


def gateway_of(shape: RouteShape, number: int) -> int:
    """The number of the Gateway that a route is served by, itself or through a ListenerSet."""
    return _set_of(shape, number) % shape.gateways if number % 2 else number // 2 % shape.gateways


def host_of(shape: RouteShape, number: int) -> str:
    """The host of a route, below that of its ListenerSet if it has one."""
    return f"r{number:05}.set{_set_of(shape, number):03}.test" if number % 2 else f"r{number:05}.test"


def documents(shape: RouteShape, *, port: int) -> Iterator[Document]:
    """Every object; the endpoints listen on `port`."""
    yield config_map(zone_aware_routing="true", ssl_redirect="false")
    yield {
        "apiVersion": _VERSION,
        "kind": "GatewayClass",
        "metadata": {"name": "zonal"},
        "spec": {"controllerName": "zonal-ingress.io/controller"},
    }
    for number in range(shape.gateways):
        listener = {"name": "http", "port": FIRST_PORT + number, "protocol": "HTTP", "allowedRoutes": _EVERYBODY}
        said = {"gatewayClassName": "zonal", "allowedListeners": _EVERYBODY, "listeners": [listener]}
        yield _object("Gateway", _gateway_name(number), NAMESPACE, said)
    for number in range(shape.listener_sets):
        yield listener_set_of(shape, number)
    for number in range(shape.routes):
        yield service(_route_name(number), namespace=_team(shape, number))
        yield _slice(shape, number, port)
        yield route_of(shape, number)


def listener_set_of(shape: RouteShape, number: int) -> Document:
    """A ListenerSet of one listener, with a hostname of its own on the port of its Gateway."""
    listener = {
        "name": "http",
        "port": FIRST_PORT + number % shape.gateways,
        "protocol": "HTTP",
        "hostname": f"*.set{number:03}.test",
        "allowedRoutes": _EVERYBODY,
    }
    parent = {"name": _gateway_name(number % shape.gateways), "namespace": NAMESPACE}
    said = {"parentRef": parent, "listeners": [listener]}
    return _object("ListenerSet", _set_name(number), _team(shape, number), said)


def route_of(shape: RouteShape, number: int, *, target: str = "/") -> Document:
    """A route of one host, whose paths begin with `target`."""
    if number % 2:
        of = _set_of(shape, number)
        parent = {"kind": "ListenerSet", "group": "gateway.networking.k8s.io", "name": _set_name(of)}
        parent["namespace"] = _team(shape, of)
    else:
        parent = {"name": _gateway_name(gateway_of(shape, number)), "namespace": NAMESPACE}
    rule = {
        "matches": [{"path": {"type": "PathPrefix", "value": target}}],
        "backendRefs": [{"name": _route_name(number), "port": 80}],
    }
    said = {"parentRefs": [parent], "hostnames": [host_of(shape, number)], "rules": [rule]}
    return _object("HTTPRoute", _route_name(number), _team(shape, number), said)


def far_route_of(shape: RouteShape, number: int) -> Document:
    """The route with the Service of the next one, which is in another namespace, behind it."""
    route = route_of(shape, number)
    far = {"name": _route_name(number + 1), "namespace": _team(shape, number + 1), "port": 80}
    route["spec"]["rules"][0]["backendRefs"] = [far]
    return route


def grant_of(shape: RouteShape, number: int) -> Document:
    """What `far_route_of` needs."""
    source = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": _team(shape, number)}
    target = {"group": "", "kind": "Service", "name": _route_name(number + 1)}
    return _object("ReferenceGrant", "far", _team(shape, number + 1), {"from": [source], "to": [target]})


def _set_of(shape: RouteShape, number: int) -> int:
    return number // 2 % shape.listener_sets


def _gateway_name(number: int) -> str:
    return f"gateway-{number:02}"


def _set_name(number: int) -> str:
    return f"set-{number:03}"


def _route_name(number: int) -> str:
    return f"route-{number:05}"


def _team(shape: RouteShape, number: int) -> str:
    return f"team-{number % shape.namespaces:03}"


def _slice(shape: RouteShape, number: int, port: int) -> Document:
    name = _route_name(number)
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": f"{name}-1",
            "namespace": _team(shape, number),
            "labels": {"kubernetes.io/service-name": name},
        },
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": port, "protocol": "TCP"}],
        "endpoints": [{"addresses": [address_of(number)], "conditions": {"ready": True}, "zone": "zone-a"}],
    }


def _object(kind: str, name: str, namespace: str, spec: dict[str, Any]) -> Document:
    return {"apiVersion": _VERSION, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}
