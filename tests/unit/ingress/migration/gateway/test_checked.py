"""`zonal check` on a dump with Gateways beside Ingresses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ingress.migration.gateway.checked import ports_of
from ingress.migration.texts import as_text
from ingress.migration.verdicts import IngressOutcome
from ingress.sources.inventory import Inventory
from tests.integration.manifests import service
from tests.unit.ingress.migration.dumped import checked, nginx

VERSION = "gateway.networking.k8s.io/v1"


def document(kind: str, name: str, *, place: str = "shop", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": place} if place else {})}
    return {"apiVersion": VERSION, "kind": kind, "metadata": metadata, "spec": spec}


CLASS = document("GatewayClass", "other", place="", controllerName="example.com/another-controller")
GATEWAY = document(
    "Gateway", "gw", gatewayClassName="other", listeners=[{"name": "http", "port": 8080, "protocol": "HTTP"}]
)


def route(name: str, to: str) -> dict[str, Any]:
    rules = [{"matches": [{"path": {"value": f"/{name}"}}], "backendRefs": [{"name": to, "port": 80}]}]
    return document("HTTPRoute", name, parentRefs=[{"name": "gw"}], rules=rules)


def test_routes_have_verdicts_beside_ingresses(tmp_path: Path) -> None:
    services = [service("cart"), service("web")]
    found = checked(tmp_path, nginx("cart"), CLASS, GATEWAY, route("good", "web"), route("bad", "none"), *services)
    verdicts = {f"{each.kind} {each.name}": each.verdict for each in found.routes}
    assert verdicts == {
        "Gateway gw": IngressOutcome.WORKS,
        "HTTPRoute good": IngressOutcome.WORKS,
        "HTTPRoute bad": IngressOutcome.CLOSED,
    }
    assert found.worst is IngressOutcome.CLOSED
    told = as_text(found)
    assert "HTTPRoute shop/bad (all.yaml): closed" in told
    assert "2 of 3 objects of Gateway API work as they are." in told


def test_a_dump_without_gateways_has_none(tmp_path: Path) -> None:
    assert checked(tmp_path, nginx("cart"), service("cart")).routes == ()


def test_without_events_there_are_no_ports() -> None:
    assert ports_of(Inventory()) == ()
