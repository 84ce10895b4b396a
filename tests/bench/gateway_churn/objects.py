"""The objects of a run: Gateways with many listeners, and routes that say in a header field who they are."""

from __future__ import annotations

from typing import NamedTuple

from tests.features.gateway.api_stage import SCALE
from tests.integration.manifests import Document, service

NAMESPACE = "shop"
FIRST_PORT = 8001
STAYING, COMING = "stays", "comes"
"""The Gateway whose listeners stay, and the one whose listeners come and go."""

_GROUP = "gateway.networking.k8s.io/v1"


class Plan(NamedTuple):
    """How large a run is. `changes` are routes that come, change or go in a second. Nothing changes in the first
    `calm_seconds`. `kills`: workers and a leader are killed, if it is not 0. `time_scale` shortens the times of the
    replicas, and lets them write statuses so much faster.
    """

    listeners: int = 20
    routes: int = 5000
    rate: int = 500
    changes: int = 20
    seconds: float = 600.0
    workers: int = 2
    quiet_seconds: float = 30.0
    calm_seconds: float = 0.0
    kills: int = 1
    time_scale: float = SCALE

    @property
    def coming(self) -> int:
        """How many listeners come and go: a fifth."""
        return max(1, self.listeners // 5)

    def stays(self, route: int) -> bool:
        """Whether a route is one of those that stay: every second of a listener that stays."""
        return route // self.listeners % 2 == 0 and self.listener_of(route) >= self.coming

    def listener_of(self, route: int) -> int:
        """The number of the listener that a route is attached to. The first ones come and go."""
        return route % self.listeners


def gateway(name: str, listeners: list[int]) -> Document:
    """A Gateway with these listeners, by number."""
    said = [{"name": f"l{each}", "port": FIRST_PORT + each, "protocol": "HTTP"} for each in listeners]
    return _custom("Gateway", name, gatewayClassName="zonal", listeners=said)


def gateway_class() -> Document:
    """Our class."""
    spec = {"controllerName": "zonal-ingress.io/controller"}
    return {"apiVersion": _GROUP, "kind": "GatewayClass", "metadata": {"name": "zonal"}, "spec": spec}


def route(plan: Plan, number: int, version: int) -> Document:
    """A route. Endpoints get its number and version in the field X-Route."""
    listener = plan.listener_of(number)
    parent = {"name": COMING if listener < plan.coming else STAYING, "sectionName": f"l{listener}"}
    said = {"set": [{"name": "X-Route", "value": f"{number}.{version}"}]}
    rule = {
        "filters": [{"type": "RequestHeaderModifier", "requestHeaderModifier": said}],
        "backendRefs": [{"name": service_of(number), "port": 80}],
    }
    return _custom("HTTPRoute", f"r{number}", parentRefs=[parent], hostnames=[f"h{number}.test"], rules=[rule])


def service_of(number: int) -> str:
    """The Service of a route; fifty routes in a row share one."""
    return f"s{number % 50}"


def services() -> list[Document]:
    """Every Service."""
    return [service(f"s{number}", namespace=NAMESPACE) for number in range(50)]


def slice_of(name: str, port: int) -> Document:
    """The only slice of a Service: an endpoint on loopback."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": port}],
        "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": True}}],
    }


def _custom(kind: str, name: str, **spec: object) -> Document:
    return {"apiVersion": _GROUP, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}
