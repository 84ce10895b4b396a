"""Describes the demo's cluster: its endpoints, and the manifests for them.

Makes the objects and the folder that holds them, and checks whether a model shows them. Does not know who reads the
folder, and starts nothing.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

Document = dict[str, Any]
"""A Kubernetes object, or any JSON object."""

ZONES: Final = ("zone-a", "zone-b", "zone-c")
ENDPOINTS_PER_ZONE: Final = 2
NAMESPACE: Final = "demo"
SERVICE: Final = "shop"
CALLS_SERVICE: Final = "prices"
"""The Service that speaks gRPC; the other one speaks HTTP/1.1."""
CALL_PATH: Final = "/demo.Prices/Get"
HOST: Final = "demo.example"
PORT: Final = 80

_BACKEND_PROTOCOL = "nginx.ingress.kubernetes.io/backend-protocol"
_SERVICES = (SERVICE, CALLS_SERVICE)


class DemoEndpoint(msgspec.Struct, frozen=True, order=True):
    """One backend: its zone, its node, the loopback address and port on which it answers, and its Service."""

    zone: str
    node: str
    address: str
    port: int
    service: str = SERVICE

    @property
    def label(self) -> str:
        return f"{self.address}:{self.port}"

    def answer(self) -> bytes:
        """The body of every answer of this endpoint: JSON that names service, zone and endpoint."""
        return msgspec.json.encode({"service": self.service, "zone": self.zone, "endpoint": self.label}) + b"\n"


class Situation(msgspec.Struct, frozen=True):
    """What changes from phase to phase: the flag, and the zone whose endpoints are not ready (None: all are ready)."""

    zone_aware: bool = False
    zone_down: str | None = None


def manifests(
    endpoints: Sequence[DemoEndpoint], situation: Situation, *, gateway: bool = False
) -> dict[str, list[Document]]:
    """File names with their objects: the cluster of `endpoints` in this situation. `gateway`: with a Gateway and routes
    in the place of Ingresses.
    """
    zones = sorted({endpoint.zone for endpoint in endpoints})
    nodes = {endpoint.node: endpoint.zone for endpoint in endpoints}
    return {
        "settings.yaml": [_config_map(situation)],
        "cluster.yaml": [
            *(_node(name, zone) for name, zone in nodes.items()),
            *map(_service, _SERVICES),
            *(_gateway_objects() if gateway else _ingress_objects()),
        ],
    } | {
        f"endpoints-{zone}.yaml": [
            _slice(endpoint, ready=zone != situation.zone_down) for endpoint in endpoints if endpoint.zone == zone
        ]
        for zone in zones
    }


def write_manifests(folder: Path, files: Mapping[str, Sequence[Document]]) -> None:
    """Writes each file whole and in one step, so that no reader sees half of it. An unchanged file is not written."""
    for name, documents in files.items():
        place, text = folder / name, yaml.safe_dump_all(documents, sort_keys=False)
        if place.exists() and place.read_text(encoding="utf-8") == text:
            continue
        fresh = folder / f".{name}.new"
        fresh.write_text(text, encoding="utf-8")
        os.replace(fresh, place)


def is_shown(model: Document, endpoints: Sequence[DemoEndpoint], situation: Situation) -> bool:
    """Whether a model, as `/debug/model` on the admin port shows it, is that of `endpoints` in this situation."""
    # Before "#" a key says how the endpoints are spoken to.
    shown = {backend["key"].rpartition("#")[2]: backend for backend in model.get("backends", ())}
    return all(
        _is_backend_shown(
            shown.get(f"{NAMESPACE}/{service}:{PORT}"),
            [each for each in endpoints if each.service == service],
            situation,
        )
        for service in _SERVICES
    )


def _is_backend_shown(backend: Document | None, endpoints: Sequence[DemoEndpoint], situation: Situation) -> bool:
    if backend is None:
        return False
    policy = "prefer-zone" if situation.zone_aware else "off"
    ready = Counter(endpoint["zone"] for endpoint in backend["endpoints"] if endpoint["ready"])
    expected = Counter(endpoint.zone for endpoint in endpoints if endpoint.zone != situation.zone_down)
    return bool(backend["zone_policy"]["name"] == policy and ready == expected)


def _config_map(situation: Situation) -> Document:
    settings = {
        "ssl-redirect": "false",
        "http2-cleartext": "true",  # calls need HTTP/2, and the demo has no certificate
        "zone-aware-routing": "true" if situation.zone_aware else "false",
    }
    return _object("v1", "ConfigMap", {"namespace": "zonal", "name": "zonal"}, data=settings)


def _ingress_objects() -> tuple[Document, ...]:
    calls = _ingress(CALLS_SERVICE, path=CALL_PATH, annotations={_BACKEND_PROTOCOL: "GRPC"})
    return _ingress_class(), _ingress(SERVICE, path="/"), calls


def _gateway_objects() -> tuple[Document, ...]:
    service, _, method = CALL_PATH.removeprefix("/").partition("/")
    listener = {"name": "http", "port": PORT, "protocol": "HTTP"}
    return (
        _gateway_object("GatewayClass", "zonal", {"controllerName": "zonal-ingress.io/controller"}, namespace=""),
        _gateway_object("Gateway", "demo", {"gatewayClassName": "zonal", "listeners": [listener]}),
        _route("HTTPRoute", SERVICE, {}),
        _route("GRPCRoute", CALLS_SERVICE, {"matches": [{"method": {"service": service, "method": method}}]}),
    )


def _route(kind: str, service: str, rule: Document) -> Document:
    rules = [{**rule, "backendRefs": [{"name": service, "port": PORT}]}]
    return _gateway_object(kind, service, {"parentRefs": [{"name": "demo"}], "hostnames": [HOST], "rules": rules})


def _gateway_object(kind: str, name: str, spec: Document, *, namespace: str = NAMESPACE) -> Document:
    place = {"namespace": namespace} if namespace else {}
    return _object("gateway.networking.k8s.io/v1", kind, {"name": name, **place}, spec=spec)


def _ingress_class() -> Document:
    spec = {"controller": "zonal-ingress.io/controller"}
    return _object("networking.k8s.io/v1", "IngressClass", {"name": "zonal"}, spec=spec)


def _node(name: str, zone: str) -> Document:
    return _object("v1", "Node", {"name": name, "labels": {"topology.kubernetes.io/zone": zone}})


def _service(name: str) -> Document:
    spec = {"ports": [{"name": "http", "port": PORT}]}
    return _object("v1", "Service", {"namespace": NAMESPACE, "name": name}, spec=spec)


def _ingress(service: str, *, path: str, annotations: Mapping[str, str] | None = None) -> Document:
    backend = {"service": {"name": service, "port": {"number": PORT}}}
    paths = [{"path": path, "pathType": "Prefix", "backend": backend}]
    metadata = {"namespace": NAMESPACE, "name": service, "annotations": dict(annotations or {})}
    spec = {"ingressClassName": "zonal", "rules": [{"host": HOST, "http": {"paths": paths}}]}
    return _object("networking.k8s.io/v1", "Ingress", metadata, spec=spec)


def _slice(endpoint: DemoEndpoint, *, ready: bool) -> Document:
    # A slice has one list of ports for all its endpoints, but on one loopback address each endpoint has its own port.
    metadata = {
        "namespace": NAMESPACE,
        "name": f"{endpoint.service}-{endpoint.node}",
        "labels": {"kubernetes.io/service-name": endpoint.service},
    }
    only = {
        "addresses": [endpoint.address],
        "conditions": {"ready": ready},
        "nodeName": endpoint.node,
        "zone": endpoint.zone,
    }
    ports = [{"name": "http", "port": endpoint.port, "protocol": "TCP"}]
    return _object("discovery.k8s.io/v1", "EndpointSlice", metadata, addressType="IPv4", ports=ports, endpoints=[only])


def _object(version: str, kind: str, metadata: Document, **parts: object) -> Document:
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **parts}
