"""What is no HTTP moves: TLS that passes, and lines of tcp-services."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ingress.migration.gateway.command import run_move
from ingress.migration.gateway.gateways import LISTENERS_MOST
from ingress.migration.writing import MigrateOptions
from tests.integration.manifests import Document, ManifestFolder, service
from tests.unit.ingress.migration.dumped import CONTEXT, nginx
from tests.unit.ingress.migration.test_writing import documents

PASSING = msgspec.structs.replace(CONTEXT, enable_ssl_passthrough=True)


def controller(*arguments: str) -> Document:
    container = {"name": "controller", "image": "registry/ingress-nginx/controller", "args": [
        "/nginx-ingress-controller", "--ingress-class=nginx", *arguments
    ]}  # fmt: skip
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "ingress-nginx-controller", "namespace": "ingress-nginx"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }


def lines(**data: str) -> Document:
    metadata = {"name": "tcp", "namespace": "ingress-nginx"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def moved(
    place: Path, capsys: pytest.CaptureFixture[str], *known: Document, **changes: Any
) -> tuple[str, dict[str, list[Document]]]:
    ManifestFolder(place / "old").write("all.yaml", *known)
    run_move(MigrateOptions(source=place / "old", output=place / "new", **{"context": CONTEXT, **changes}))
    found: dict[str, list[Document]] = {}
    for each in documents(place / "new"):
        found.setdefault(each["kind"], []).append(each)
    return capsys.readouterr().out, found


@pytest.mark.parametrize("known_by", ["option", "controller"])
def test_a_host_whose_tls_passes_has_a_tls_route(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], known_by: str
) -> None:
    passing = nginx("web", "/", "cart", ssl_passthrough="true")
    given = {"context": PASSING} if known_by == "option" else {}
    beside = [controller("--enable-ssl-passthrough")] if known_by == "controller" else []
    told, found = moved(tmp_path, capsys, passing, service("cart"), *beside, **given)
    (route,) = found["TLSRoute"]
    assert route["spec"]["hostnames"] == ["shop.test"]
    assert route["spec"]["rules"] == [{"backendRefs": [{"name": "cart", "port": 80}]}]
    (listener,) = [each for each in found["Gateway"][0]["spec"]["listeners"] if each["protocol"] == "TLS"]
    assert (listener["hostname"], listener["port"], listener["tls"]) == ("shop.test", 443, {"mode": "Passthrough"})
    assert route["spec"]["parentRefs"][0]["sectionName"] == listener["name"]
    assert "shop/web: moves in part" in told
    assert "HTTPRoute" not in found


def test_without_the_option_nothing_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told, found = moved(tmp_path, capsys, nginx("web", "/", "cart", ssl_passthrough="true"), service("cart"))
    assert "shop/web: stays an Ingress" in told
    assert "TLSRoute" not in found


def test_lines_of_tcp_services_become_tcp_routes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = lines(**{"5432": "db/postgres:5432", "1883": "shop/cart:http", "25": "mail/mx:25:PROXY", "x": "y"})
    argument = controller("--tcp-services-configmap=ingress-nginx/tcp")
    told, found = moved(tmp_path, capsys, nginx("web"), service("cart"), known, argument)
    routes = {each["metadata"]["namespace"]: each for each in found["TCPRoute"]}
    assert routes["db"]["spec"]["rules"] == [{"backendRefs": [{"name": "postgres", "port": 5432}]}]
    assert routes["shop"]["spec"]["rules"] == [{"backendRefs": [{"name": "cart", "port": 80}]}]
    listeners = {each["port"]: each for each in found["Gateway"][0]["spec"]["listeners"]}
    assert (listeners[5432]["protocol"], listeners[1883]["name"]) == ("TCP", "tcp-1883")
    assert "tcp-services, not written: port 25: " in told
    assert 25 not in listeners
    assert "x: y" in told


@pytest.mark.large
def test_listeners_beyond_the_bound_of_a_gateway_are_those_of_sets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = lines(**{str(5000 + number): "shop/cart:80" for number in range(2 * LISTENERS_MOST)})
    argument = controller("--tcp-services-configmap=ingress-nginx/tcp", "--enable-ssl-passthrough")
    passing = nginx("web", "/", "cart", ssl_passthrough="true")
    _, found = moved(tmp_path, capsys, passing, service("cart"), known, argument)
    (gateway,) = found["Gateway"]
    assert gateway["spec"]["allowedListeners"] == {"namespaces": {"from": "All"}}
    named = {
        (each["kind"], each["metadata"]["namespace"], each["metadata"]["name"]): [
            listener["name"] for listener in each["spec"]["listeners"]
        ]
        for each in (gateway, *found["ListenerSet"])
    }
    assert max(map(len, named.values())) == LISTENERS_MOST
    routes = [*found["TLSRoute"], *found["TCPRoute"]]
    assert len(routes) == 2 * LISTENERS_MOST + 1
    for each in routes:
        (parent,) = each["spec"]["parentRefs"]
        place = parent.get("kind", "Gateway"), parent.get("namespace", each["metadata"]["namespace"]), parent["name"]
        assert parent["sectionName"] in named[place]
