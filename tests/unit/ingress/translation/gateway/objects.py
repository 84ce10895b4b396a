"""Small objects of Gateway API for tests: say what matters, the rest is valid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ingress.objects.converting import decode
from ingress.objects.gateway import (
    BackendTlsPolicy,
    Gateway,
    GatewayClass,
    ListenerSet,
    ListenerSpec,
    Namespace,
    ReferenceGrant,
)
from ingress.objects.gateway_routes import HttpRoute
from ingress.objects.kinds import KubernetesObject
from ingress.translation.gateway.listeners import ListenerOwner, ReadListener, read_listener
from ingress.translation.gateway.material import GatewayMaterial
from ingress.translation.gateway.reading import GatewayOptions, ReadGateways, read_gateways
from ingress.translation.secrets.materials import Materials
from tests.unit.ingress.cluster import inventory

CONTROLLER = "zonal-ingress.io/controller"
PORTS = frozenset({80, 443, 8080, 9000})
OWNER = ListenerOwner("Gateway", "infra", "gw")


def read(kind: str, name: str, *, namespace: str = "infra", created: str = "", **spec: Any) -> Any:
    metadata = {"name": name, "namespace": namespace, "creationTimestamp": created, "generation": 3}
    version = "v1" if kind == "Namespace" else "gateway.networking.k8s.io/v1"
    return decode({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})


def gateway_class() -> GatewayClass:
    found: GatewayClass = read("GatewayClass", "zonal", controllerName=CONTROLLER)
    return found


def listener(name: str = "http", port: int = 80, protocol: str = "HTTP", **more: Any) -> dict[str, Any]:
    return {"name": name, "port": port, "protocol": protocol, **more}


def gateway(*listeners: dict[str, Any], name: str = "gw", namespace: str = "infra", **spec: Any) -> Gateway:
    found: Gateway = read(
        "Gateway", name, namespace=namespace, gatewayClassName="zonal", listeners=listeners or (listener(),), **spec
    )
    return found


def listener_set(*listeners: dict[str, Any], name: str = "extra", namespace: str = "infra", **more: Any) -> ListenerSet:
    parent = {"name": "gw", "namespace": "infra"}
    found: ListenerSet = read("ListenerSet", name, namespace=namespace, parentRef=parent, listeners=listeners, **more)
    return found


def http_route(name: str = "route", *, to: str = "web", namespace: str = "infra", **spec: Any) -> HttpRoute:
    rules = [{"backendRefs": [{"name": to, "port": 80}]}]
    said = {"parentRefs": [{"name": "gw", "namespace": "infra"}], "rules": rules, **spec}
    found: HttpRoute = read("HTTPRoute", name, namespace=namespace, **said)
    return found


def grant(kind: str = "HTTPRoute", *, of: str = "shop", to: str = "Service", name: str = "") -> ReferenceGrant:
    source = {"group": "gateway.networking.k8s.io", "kind": kind, "namespace": "infra"}
    said: dict[str, Any] = {"from": [source], "to": [{"kind": to, "name": name}]}
    found: ReferenceGrant = read("ReferenceGrant", "grant", namespace=of, **said)
    return found


def policy(
    name: str = "policy", *, target: str = "web", section: str = "", created: str = "", **said: Any
) -> BackendTlsPolicy:
    targets = [{"group": "", "kind": "Service", "name": target, "sectionName": section}]
    authorities = [{"group": "", "kind": "ConfigMap", "name": "ca"}]
    validation = {"hostname": "a.test", "caCertificateRefs": authorities, **said}
    found: BackendTlsPolicy = read("BackendTLSPolicy", name, created=created, targetRefs=targets, validation=validation)
    return found


def namespace(name: str, **labels: str) -> Namespace:
    found = decode({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    assert isinstance(found, Namespace)
    return found


def spec_of(**more: Any) -> ListenerSpec:
    return gateway(listener(**more)).spec.listeners[0]


def read_one(owner: ListenerOwner = OWNER, **more: Any) -> ReadListener:
    return read_listener(spec_of(**more), owner, ("infra", "gw"), PORTS)


def read_all(*objects: KubernetesObject, ports: frozenset[int] = PORTS) -> ReadGateways:
    known = inventory(gateway_class(), *objects)
    return read_gateways(known, GatewayOptions(CONTROLLER, ports), GatewayMaterial(known, Materials()))


def conditions(found: ReadGateways, kind: str, name: str) -> dict[str, tuple[str, str]]:
    """Status and reason of each condition of an object; of a route or policy, those of its first entry."""
    status = next(each.status for each in found.standings if (each.kind, each.name) == (kind, name))
    entries: Sequence[Any] = getattr(status, "parents", None) or getattr(status, "ancestors", None) or [status]
    return {each.type: (each.status, each.reason) for each in entries[0].conditions}
