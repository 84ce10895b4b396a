"""The Ingress conformance features, on the wire: default backend, hosts, paths and load balancing."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import trustme

from ingress.settings.context import TranslationContext
from tests.fakes.backends import echoing
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import Document, config_map, endpoint_slice, ingress_class, service, tls_secret
from tests.integration.wire import Connection, Response, request_bytes, trusting

FEATURES: dict[str, Any] = {
    feature["feature"]: feature
    for feature in json.loads((Path(__file__).parents[1] / "cases" / "conformance.json").read_text())["features"]
}
CLAIMED = ("default_backend", "host_rules", "path_rules")
"""`load_balancing` has a test of its own below; `ingress_class` is about a status that this version never writes."""

CLASS = "conformance"
NAMESPACE = "conformance"
REDIRECTS = (301, 302, 303, 307, 308)


@asynccontextmanager
async def feature_served(background: dict[str, Any]) -> AsyncIterator[DataPlane]:
    """A data plane that serves the objects of a feature's background.

    Conformance asks for the field `Server` of the backend, which only reaches clients by that setting.
    """
    async with AsyncExitStack() as stack:
        plane = await stack.enter_async_context(data_plane())
        documents = [
            ingress_class(CLASS),
            config_map(allow_backend_server_header="true"),
            *map(_ingress_of, background["ingresses"]),
        ]
        documents += [_secret_of(each) for each in background.get("tls_secrets", ())]
        for each in background["backends"]:
            zones = {"zone-a": each.get("replicas", 1)}
            endpoints = await stack.enter_async_context(echoing(each["service"], zones))
            documents.append(
                service(
                    each["service"], namespace=NAMESPACE, port=each["port"], port_name=each.get("port_name", "http")
                )
            )
            documents += [endpoint_slice(endpoint, namespace=NAMESPACE) for endpoint in endpoints]
        plane.serve(documents, TranslationContext(allow_local_endpoints=True))
        yield plane


def _ingress_of(manifest: Document) -> Document:
    """As the conformance harness applies it: into its namespace, with its class."""
    document = copy.deepcopy(manifest)
    document["metadata"]["namespace"] = NAMESPACE
    document["spec"]["ingressClassName"] = CLASS
    return document


def _secret_of(secret: dict[str, Any]) -> Document:
    certificate = trustme.CA().issue_cert(*secret["dns_sans"])
    return tls_secret(
        secret["name"],
        chain=b"".join(part.bytes() for part in certificate.cert_chain_pems),
        key=certificate.private_key_pem.bytes(),
        namespace=NAMESPACE,
    )


async def send(plane: DataPlane, request: dict[str, Any], *fields: str) -> Response:
    """Send a scenario's request as the harness does: certificates unverified, one redirect followed."""
    response = await _send(plane, request, *fields)
    if response.status in REDIRECTS:
        location = urlsplit(response.field("location"))
        assert location.hostname
        moved = {"scheme": location.scheme, "host": location.hostname, "path": location.path or "/"}
        response = await _send(plane, {"method": request["method"], **moved}, *fields)
    return response


async def _send(plane: DataPlane, request: dict[str, Any], *fields: str) -> Response:
    is_secure = request["scheme"] == "https"
    port, tls = (plane.https_port, trusting()) if is_secure else (plane.http_port, None)
    target = request.get("request_target", request["path"])
    async with await Connection.open(port, tls=tls, server_name=request["host"]) as connection:
        return await connection.send(request_bytes(request["method"], target, f"Host: {request['host']}", *fields))


def _scenarios() -> list[Any]:
    return [
        pytest.param(feature, scenario, id=scenario["id"])
        for feature in CLAIMED
        for scenario in FEATURES[feature]["scenarios"]
    ]


@pytest.mark.parametrize(("feature", "scenario"), _scenarios())
async def test_scenario(feature: str, scenario: dict[str, Any]) -> None:
    expected = scenario["expect"]
    saw = expected.get("backend_saw", {})
    sent = {"User-Agent": "Go-http-client/1.1", **saw.get("headers", {})}
    async with feature_served(FEATURES[feature]["background"]) as plane:
        for request in scenario["requests"]:
            for _ in range(request["count"]):
                response = await send(plane, request, *(f"{name}: {value}" for name, value in sent.items()))
                _assert_as_expected(response, expected)


def _assert_as_expected(response: Response, expected: dict[str, Any]) -> None:
    assert response.status == expected["status"]
    for name in expected.get("response_headers_present", ()):
        assert response.field(name.lower()) is not None
    if "service" not in expected:
        return
    seen = response.json()
    fields = {name.lower(): value for name, value in seen["headers"]}
    assert seen["service"] == expected["service"]
    if "request_host_at_backend" in expected:
        assert fields["host"] == expected["request_host_at_backend"]
    if saw := expected.get("backend_saw"):
        assert (seen["method"], seen["target"], seen["proto"]) == (saw["method"], saw["path"], saw["proto"])
        assert {name: fields[name.lower()] for name in saw["headers"]} == saw["headers"]


async def test_load_balancing_reaches_every_replica_equally() -> None:
    background = FEATURES["load_balancing"]["background"]
    replicas = background["backends"][0]["replicas"]
    async with feature_served(background) as plane, await Connection.open(plane.http_port) as connection:
        answers = Counter([(await connection.get("any.test")).json()["endpoint"] for _ in range(replicas * 10)])
    assert len(answers) == replicas
    assert set(answers.values()) == {10}
