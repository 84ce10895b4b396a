"""Manifests of ingress-nginx served over real sockets: nobody answers whom their author did not mean.

Each file of tests/cases/migration is what clusters have. What zonal cannot do is closed with 503 and said; what zonal
does is served. The Services that a file names have one endpoint each, which answers with the name of its Service.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from ingress.findings import HARM, Finding, Severity
from ingress.settings.context import TranslationContext
from tests.fakes.backends import echoing
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import Document, config_map, endpoint_slice, ingress_class, service
from tests.integration.wire import get

CASES = Path(__file__).parents[1] / "cases" / "migration"
SHOP, WWW, OLD, TENANT = (f"{label}shop.example.com" for label in ("", "www.", "old.", "tenant."))
CLOSED, MISROUTED, UNPROTECTED, DEGRADED, COSMETIC = Severity
PROTECTIVE_KEYS = (
    "enable-modsecurity",
    "enable-owasp-modsecurity-crs",
)
RANGES = {"denylist-source-range": "203.0.113.0/24", "whitelist-source-range": "127.0.0.0/8"}


class Expected(NamedTuple):
    """Who answers a request for a host and path, a Service or a status, and the worst finding of each Ingress."""

    answers: dict[tuple[str, str], str]
    worst: dict[str, Severity | None]


EXPECTED = {
    "spa-and-api": Expected(
        {(SHOP, "/"): "spa", (SHOP, "/about"): "spa", (SHOP, "/api/users"): "api", (SHOP, "/API/users"): "api"},
        {"spa": None, "api": None},
    ),
    "spa-and-api-in-one": Expected({(SHOP, "/"): "spa", (SHOP, "/api/users"): "api"}, {"web": None}),
    "regex-versions": Expected({(SHOP, "/"): "spa", (SHOP, "/v2/users"): "api"}, {"spa": None, "versions": None}),
    "oauth2-proxy": Expected(
        {(SHOP, "/"): "500", (SHOP, "/account"): "500", (SHOP, "/oauth2/start"): "oauth2-proxy"},
        {"app": None, "oauth2-proxy": None},
    ),
    "cert-manager-uploads": Expected({(SHOP, "/"): "uploads"}, {"uploads": DEGRADED}),
    "websocket-affinity": Expected({(SHOP, "/socket.io/x"): "chat", (SHOP, "/"): "404"}, {"chat": COSMETIC}),
    "cors-limits-ranges": Expected({(SHOP, "/"): "403"}, {"partners": None}),
    "source-ranges": Expected(
        {(SHOP, "/partners"): "403", (SHOP, "/office"): "api", (SHOP, "/blocked"): "403", (SHOP, "/slip"): "503"},
        {"partners": None, "office": None, "blocked": None, "slip": CLOSED},
    ),
    "cors-alone": Expected({(SHOP, "/"): "api"}, {"public": None}),
    "grpc": Expected({(SHOP, "/"): "502"}, {"grpc": DEGRADED}),
    "canary": Expected({(SHOP, "/"): "web"}, {"web": None, "web-next": None}),
    "www-redirect": Expected(
        {(SHOP, "/"): "web", (WWW, "/"): "308", (TENANT, "/"): "tenants"}, {"shop": None, "wildcard": None}
    ),
    "server-alias": Expected(
        {(SHOP, "/"): "web", (OLD, "/"): "web", (TENANT, "/"): "tenants"}, {"shop": None, "wildcard": None}
    ),
    "basic-auth": Expected({(SHOP, "/"): "web", (SHOP, "/admin/users"): "503"}, {"web": None, "admin": CLOSED}),
    "mtls": Expected({(SHOP, "/"): "503"}, {"internal": CLOSED}),
    "permanent-redirect": Expected(
        {(SHOP, "/"): "web", (SHOP, "/old/x"): "308", (SHOP, "/sale"): "302"},
        {"web": None, "moved": None, "away": None},
    ),
    "app-root": Expected({(SHOP, "/"): "302"}, {"dashboard": None}),
    "snippets": Expected({(SHOP, "/"): "503", (SHOP, "/internal"): "503"}, {"app": CLOSED}),
    "ssl-passthrough": Expected({(SHOP, "/"): "503"}, {"vault": CLOSED}),
    "waf": Expected({(SHOP, "/"): "503"}, {"app": CLOSED}),
    "error-pages": Expected({(SHOP, "/"): "web"}, {"web": DEGRADED}),
}


def documents(name: str) -> list[Document]:
    return [document for document in yaml.safe_load_all((CASES / f"{name}.yaml").read_text()) if document]


def settings() -> dict[str, str]:
    (document,) = documents("configmap")
    data: dict[str, str] = document["data"]
    return data


def services_of(ingresses: Iterable[Document]) -> set[str]:
    return {
        path["backend"]["service"]["name"]
        for ingress in ingresses
        for rule in ingress["spec"]["rules"]
        for path in rule["http"]["paths"]
    }


@asynccontextmanager
async def serving(
    ingresses: list[Document], data: dict[str, str], context: TranslationContext | None = None
) -> AsyncIterator[tuple[DataPlane, tuple[Finding, ...]]]:
    """The Ingresses with an endpoint for each Service, and the findings about them."""
    names = sorted({*services_of(ingresses), "fallback"})
    async with data_plane() as plane, AsyncExitStack() as stack:
        endpoints = [each for name in names for each in await stack.enter_async_context(echoing(name, {"zone-a": 1}))]
        slices = [*map(service, names), *map(endpoint_slice, endpoints)]
        cluster = [ingress_class("nginx"), config_map(**data), *slices, *ingresses]
        yield plane, plane.serve(cluster, context or TranslationContext(allow_local_endpoints=True))


async def answer_of(plane: DataPlane, host: str, target: str) -> str:
    """The Service that answers, or else the status."""
    answer = await get(plane.http_port, host, target)
    return str(answer.json()["service"]) if answer.status == 200 else str(answer.status)


def worst_of(findings: Iterable[Finding], name: str) -> Severity | None:
    about = (finding.severity for finding in findings if (finding.kind, finding.name) == ("Ingress", name))
    return min(about, key=HARM.__getitem__, default=None)


def test_every_manifest_has_an_expectation() -> None:
    assert {path.stem for path in CASES.glob("*.yaml")} == EXPECTED.keys() | {"configmap"}
    assert len(EXPECTED) >= 15


@pytest.fixture(autouse=True)
def unknown_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names in the manifests have no address, whatever the network of this machine says."""
    known = socket.getaddrinfo

    def look_up(host: str, *arguments: Any, **named: Any) -> Any:
        if host.endswith(".example.com"):
            raise socket.gaierror(socket.EAI_NONAME, "as a test wants it")
        return known(host, *arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


@pytest.mark.parametrize("name", sorted(EXPECTED))
async def test_nobody_answers_whom_the_author_did_not_mean(name: str) -> None:
    expected = EXPECTED[name]
    async with serving(documents(name), {"ssl-redirect": "false"}) as (plane, findings):
        answers = {place: await answer_of(plane, *place) for place in expected.answers}
    assert answers == expected.answers
    assert {ingress: worst_of(findings, ingress) for ingress in expected.worst} == expected.worst


async def opened(data: dict[str, str]) -> tuple[set[str], tuple[Finding, ...]]:
    """What a canary, its main Ingress, an unknown host and its default backend answer under these settings."""
    context = TranslationContext(allow_local_endpoints=True, default_backend_service="shop/fallback")
    async with serving(documents("canary"), data, context) as (plane, findings):
        places = ((SHOP, "/"), (SHOP, "/any/path"), ("unknown.example.com", "/"))
        return {await answer_of(plane, *place) for place in places}, findings


async def test_a_configmap_of_ingress_nginx_opens_nothing() -> None:
    data = settings()
    assert len(data) == 28
    answers, findings = await opened(data)
    assert answers == {"503"}
    closing = [finding for finding in findings if finding.reason == "ClosedBySetting"]
    assert {finding.message.partition(" ")[0] for finding in closing} == set(PROTECTIVE_KEYS)
    assert {(finding.kind, finding.severity) for finding in closing} == {("ConfigMap", CLOSED)}
    assert findings[0].severity is CLOSED


@pytest.mark.parametrize("key", PROTECTIVE_KEYS)
async def test_each_protective_key_alone_opens_nothing(key: str) -> None:
    answers, _ = await opened({"ssl-redirect": "false", key: settings()[key]})
    assert answers == {"503"}


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        ({"whitelist-source-range": "10.0.0.0/8"}, {"403"}),
        ({"denylist-source-range": "127.0.0.0/8"}, {"403"}),
        ({"denylist-source-range": "10.0.0.0/8"}, {"web", "fallback"}),
        ({"whitelist-source-range": "10.0.0.0/8,nonsense"}, {"503"}),
        ({"denylist-source-range": "nonsense"}, {"503"}),
    ],
)
async def test_source_ranges_of_the_configmap_hold_for_every_path(data: dict[str, str], answer: set[str]) -> None:
    answers, _ = await opened({"ssl-redirect": "false", **data})
    assert answers == answer


async def test_without_the_protective_keys_the_rest_of_the_configmap_serves() -> None:
    data = {key: text for key, text in settings().items() if key not in PROTECTIVE_KEYS}
    answers, findings = await opened(data)
    assert answers == {"403"}
    assert CLOSED not in {finding.severity for finding in findings}
    answers, findings = await opened({**data, **RANGES})
    assert answers == {"500", "fallback"}  # the auth service does not answer, and nobody asks it about the default
    del data["global-auth-url"]
    assert CLOSED not in {finding.severity for finding in findings}
    answers, findings = await opened({**data, **RANGES})
    assert answers == {"web", "fallback"}
    assert CLOSED not in {finding.severity for finding in findings}


async def test_the_operator_alone_opens_a_closed_cluster_and_it_is_said() -> None:
    answers, findings = await opened(
        {**settings(), **RANGES, "global-auth-url": "", "ignore-settings": ", ".join(PROTECTIVE_KEYS)}
    )
    assert answers == {"web", "fallback"}
    ignored = [finding for finding in findings if finding.reason == "IgnoredByOperator"]
    assert {finding.severity for finding in ignored} == {UNPROTECTED}
    assert len(ignored) == len(PROTECTIVE_KEYS)


async def test_an_annotation_that_the_operator_ignores_is_served_and_said_to_be_unprotected() -> None:
    data = {"ssl-redirect": "false", "ignore-annotations": "configuration-snippet,server-snippet"}
    async with serving(documents("snippets"), data) as (plane, findings):
        assert await answer_of(plane, SHOP, "/") == "app"
    assert worst_of(findings, "app") is UNPROTECTED
