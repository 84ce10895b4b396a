"""Objects of Gateway API and what their statuses should say, for tests of what is written."""

from __future__ import annotations

from typing import Any

from ingress.objects.converting import decode
from ingress.objects.kinds import Kind
from ingress.sources.events import Replaced
from ingress.sources.inventory import Inventory
from ingress.translation.gateway.material import GatewayMaterial
from ingress.translation.gateway.reading import GatewayOptions, read_gateways
from ingress.translation.secrets.materials import Materials
from ingress.writing.gateway.in_use import Judgement
from tests.fakes.apiserver import ApiServer

OURS = "zonal-ingress.io/controller"
GROUP = "gateway.networking.k8s.io/v1"
VERSIONS = {
    kind: "v1"
    for kind in Kind
    if kind.value.endswith("Route") or kind in (Kind.GATEWAY, Kind.GATEWAY_CLASS, Kind.LISTENER_SET)
} | {Kind.BACKEND_TLS_POLICY: "v1"}
CUSTOM = frozenset(("v1", kind.value) for kind in VERSIONS)

Document = dict[str, Any]


def custom(kind: str, name: str, spec: Document, namespace: str = "infra", **metadata: Any) -> Document:
    own = {"name": name, **({} if kind == "GatewayClass" else {"namespace": namespace}), **metadata}
    return {"apiVersion": GROUP, "kind": kind, "metadata": own, "spec": spec}


def gateway_class(name: str = "zonal", **metadata: Any) -> Document:
    return custom("GatewayClass", name, {"controllerName": OURS}, **metadata)


def gateway(name: str = "gw", *, port: int = 80, **spec: Any) -> Document:
    listeners = [{"name": "http", "port": port, "protocol": "HTTP"}]
    return custom("Gateway", name, {"gatewayClassName": "zonal", "listeners": listeners, **spec})


def route(name: str = "route", *parents: str, path: str = "/") -> Document:
    rules = [{"matches": [{"path": {"type": "PathPrefix", "value": path}}], "backendRefs": [{"name": "v", "port": 80}]}]
    return custom("HTTPRoute", name, {"parentRefs": [{"name": each} for each in parents or ("gw",)], "rules": rules})


def inventory_of(*documents: Document) -> Inventory:
    """An inventory of these objects, which knows every kind."""
    found = [item for each in documents if (item := decode(each)) is not None]
    known = Inventory()
    for kind in Kind:
        known.apply(Replaced(kind, tuple(item for item in found if item.kind is kind)))
    return known


def kept(server: ApiServer) -> list[Document]:
    """Every object of the server that has a status of ours."""
    return [each for kind in VERSIONS for each in server.objects(kind.value)]


def judgement_of(inventory: Inventory, generation: int = 1) -> Judgement:
    """What statuses should say by a translation of the whole inventory."""
    read = read_gateways(inventory, GatewayOptions(OURS, frozenset({80})), GatewayMaterial(inventory, Materials()))
    return Judgement(read.standings, generation, inventory.stamps.now)
