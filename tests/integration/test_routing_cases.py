"""Which Service answers which request: the documentation's tables and every collected case, on the wire."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from ingress.settings.context import TranslationContext
from tests.fakes.backends import EchoEndpoint
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import (
    Document,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
)
from tests.integration.wire import Connection, Response, request_bytes

pytestmark = pytest.mark.asyncio(loop_scope="module")

TABLES: dict[str, Any] = json.loads((Path(__file__).parents[1] / "cases" / "path_matching.json").read_text())
CONTEXT = TranslationContext(allow_local_endpoints=True, watch_ingress_without_class=True)
CLASS = "nginx"

LEFT_OUT = {
    "trailing_slash/8": "ingress-nginx only: needs redirect-to-trailing-slash",
    "default_backend/10": "ingress-nginx only: needs the default-backend annotation",
}
"""Groups and cases that this version does not claim, and why."""


class Cluster:
    """Echo endpoints by Service name, made when a case first names them, before one data plane."""

    def __init__(self, plane: DataPlane) -> None:
        self.plane = plane
        self.endpoints: dict[str, EchoEndpoint] = {}

    async def serve(self, ingresses: list[Document], **settings: str) -> None:
        documents = [ingress_class(CLASS), config_map(**settings), *ingresses]
        for namespace, name in sorted({place for each in ingresses for place in _services(each)}):
            documents += [
                service(name, namespace=namespace),
                endpoint_slice(await self._endpoint(name), namespace=namespace),
            ]
        self.plane.serve(documents, CONTEXT)

    async def _endpoint(self, name: str) -> EchoEndpoint:
        if name not in self.endpoints:
            self.endpoints[name] = EchoEndpoint(name)
            await self.endpoints[name].start()
        return self.endpoints[name]

    async def send(self, request: dict[str, str]) -> Response:
        fields = [f"Host: {request['host']}"] if request["host"] else []
        version = request.get("http_version", "1.1")
        async with await Connection.open(self.plane.http_port) as connection:
            return await connection.send(
                request_bytes(request["method"], request["target"], *fields, version=version), method=request["method"]
            )

    async def get(self, host: str, target: str) -> Response:
        return await self.send({"method": "GET", "host": host, "target": target})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster() -> AsyncIterator[Cluster]:
    async with data_plane() as plane:
        cluster = Cluster(plane)
        yield cluster
        for endpoint in cluster.endpoints.values():
            await endpoint.stop()


def _services(document: Document) -> Iterable[tuple[str, str]]:
    spec = document["spec"]
    backends = [spec["defaultBackend"]] if "defaultBackend" in spec else []
    backends += [path["backend"] for rule in spec["rules"] for path in rule["http"]["paths"]]
    return [(document["metadata"]["namespace"], each["service"]["name"]) for each in backends if "service" in each]


@pytest.mark.parametrize("row", TABLES["kubernetes_docs_table"], ids=lambda row: f"row {row['row']}")
async def test_documentation_table_of_paths(cluster: Cluster, row: dict[str, Any]) -> None:
    declared = [
        (each["path"], each["pathType"]) if isinstance(each, dict) else (each, row["kind"]) for each in row["paths"]
    ]
    names = {f"{text} ({kind})": f"path-{number}" for number, (text, kind) in enumerate(declared)}
    paths = [path(text, names[f"{text} ({kind})"], kind=kind) for text, kind in declared]
    await cluster.serve([ingress("table", rule("docs.test", *paths), class_name=CLASS)])

    response = await cluster.get("docs.test", row["request_path"])

    if not row["matches"]:
        assert response.status == 404
        return
    matched = row["matched_path"] if row["kind"] == "Mixed" else f"{row['matched_path']} ({row['kind']})"
    assert response.status == 200
    assert response.json()["service"] == names[matched]


@pytest.mark.parametrize("row", TABLES["kubernetes_wildcard_table"], ids=lambda row: str(row["request_host"]))
async def test_documentation_table_of_wildcards(cluster: Cluster, row: dict[str, Any]) -> None:
    await cluster.serve([ingress("table", rule(row["host"], path("/", "wild")), class_name=CLASS)])
    response = await cluster.get(row["request_host"], "/")
    assert response.status == (200 if row["matches"] else 404)


def _claimed_cases() -> list[Any]:
    return [
        pytest.param(case, id=case["id"])
        for case in TABLES["cases"]
        if case["id"] not in LEFT_OUT and case["group"] not in LEFT_OUT
    ]


async def test_what_is_left_out_is_in_the_tables() -> None:
    assert set(LEFT_OUT) <= {name for case in TABLES["cases"] for name in (case["id"], case["group"])}


@pytest.mark.parametrize("case", _claimed_cases())
async def test_cases(cluster: Cluster, case: dict[str, Any]) -> None:
    await cluster.serve([_ingress_of(each) for each in case["ingresses"]])

    response = await cluster.send(case["request"])

    # Where both are known and differ, the Kubernetes documentation counts.
    expected = case.get("conformance_expect", case["expect"])
    answered = response.json() if response.status == 200 else {"service": "default-backend"}
    if "status" in expected:
        assert response.status == expected["status"]
    if "service" in expected:
        assert answered["service"] == expected["service"]
    if "not_service" in expected:
        assert answered["service"] != expected["not_service"]
    if "upstream_target" in expected:
        assert answered["target"] == expected["upstream_target"]


@pytest.mark.parametrize(
    "case", [each for each in TABLES["cases"] if each["group"] == "trailing_slash"], ids=lambda case: case["id"]
)
async def test_redirects_to_a_final_slash_where_the_operator_wants_them(cluster: Cluster, case: dict[str, Any]) -> None:
    await cluster.serve([_ingress_of(each) for each in case["ingresses"]], redirect_to_trailing_slash="true")

    response = await cluster.send(case["request"])

    assert response.status == case["expect"]["status"]
    assert response.field("location") == case["expect"].get("location")


def _ingress_of(case: dict[str, Any]) -> Document:
    """A case's shorthand as the object it stands for."""
    spec: Document = {"rules": [_rule_of(each) for each in case["rules"]]}
    if "ingressClassName" in case:
        spec["ingressClassName"] = case["ingressClassName"]
    if "defaultBackend" in case:
        spec["defaultBackend"] = _backend_of(case["defaultBackend"])
    if "tls" in case:
        spec["tls"] = case["tls"]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {
            "namespace": case["namespace"],
            "name": case["name"],
            "creationTimestamp": f"2024-01-01T00:00:{case['created']:02}Z",
            "annotations": {f"nginx.ingress.kubernetes.io/{key}": text for key, text in case["annotations"].items()},
        },
        "spec": spec,
    }


def _rule_of(case: dict[str, Any]) -> Document:
    paths = [
        {"path": each["path"], "pathType": each["pathType"], "backend": _backend_of(each)} for each in case["paths"]
    ]
    return {"host": case["host"], "http": {"paths": paths}}


def _backend_of(case: dict[str, Any]) -> Document:
    if "resource" in case:
        return {"resource": case["resource"]}
    return {"service": {"name": case["service"], "port": {"number": case.get("port", 80)}}}
