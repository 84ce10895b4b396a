"""Redirects over real sockets: where each request is sent, in which order, and that no request chooses the target."""

from __future__ import annotations

import pytest
import trustme

from ingress.settings.context import TranslationContext
from tests.fakes.backends import EchoEndpoint, echoing
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
    tls_secret,
)
from tests.integration.wire import Connection, Response, get, request_bytes, trusting

SHOP, WWW = "shop.test", "www.shop.test"
CONTEXT = TranslationContext(allow_local_endpoints=True, http_port=0, https_port=0)
NOBODY = {"allowlist-source-range": "203.0.113.0/24"}
AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)
TLS = [{"hosts": [SHOP], "secretName": "cert"}]


def certificate(*names: str) -> Document:
    leaf = AUTHORITY.issue_cert(*names, key_type=trustme.KeyType.ECDSA)
    return tls_secret("cert", chain=leaf.cert_chain_pems[0].bytes(), key=leaf.private_key_pem.bytes())


def web(annotations: dict[str, str], *paths: Document, tls: list[Document] | None = None) -> Document:
    said = {f"nginx.ingress.kubernetes.io/{name}": value for name, value in annotations.items()}
    return ingress("web", rule(SHOP, *(paths or (path("/", "cart"),))), annotations=said, tls=tls or [])


def serve(plane: DataPlane, endpoint: EchoEndpoint | None, *documents: Document) -> None:
    placed = [] if endpoint is None else [service("cart"), endpoint_slice(endpoint)]
    plane.serve([ingress_class(), *placed, *documents], CONTEXT)


def leads(response: Response) -> tuple[int, str | None]:
    return response.status, response.field("location")


async def over_tls(plane: DataPlane, host: str, target: str = "/") -> Response:
    async with await Connection.open(plane.https_port, tls=trusting(), server_name=host) as connection:
        return await connection.get(host, target)


async def raw(plane: DataPlane, request: bytes, method: str = "GET") -> Response:
    async with await Connection.open(plane.http_port) as connection:
        return await connection.send(request, method=method)


ORDER = [
    ({"app-root": "/app"}, (302, "http://shop.test/app")),
    ({"temporal-redirect": "https://t.test"}, (302, "https://t.test")),
    ({"permanent-redirect": "https://p.test"}, (301, "https://p.test")),
    ({"force-ssl-redirect": "true"}, (308, "https://shop.test")),
    (NOBODY, (503, None)),
]
"""What answers a request, the first of them first. The Service is missing, which answers before who may is asked."""


@pytest.mark.parametrize("first", range(len(ORDER)))
async def test_redirects_come_before_https_then_the_missing_service_then_who_may(first: int) -> None:
    annotations = {name: value for said, _ in ORDER[first:] for name, value in said.items()}
    async with data_plane() as plane:
        serve(plane, None, web(annotations))
        assert leads(await get(plane.http_port, SHOP)) == ORDER[first][1]


async def test_a_redirect_between_names_comes_before_that_to_https() -> None:
    async with data_plane() as plane, echoing("cart", {"zone-a": 1}) as (endpoint,):
        both = {"from-to-www-redirect": "true", "force-ssl-redirect": "true", "app-root": "/app"}
        serve(plane, endpoint, web(both, tls=TLS), certificate(SHOP, WWW))
        assert leads(await get(plane.http_port, WWW, "/?a=b")) == (308, "http://shop.test/?a=b")
        assert leads(await over_tls(plane, WWW, "/a/")) == (308, "https://shop.test/a")
        assert leads(await over_tls(plane, SHOP)) == (302, "https://shop.test/app")
        async with await Connection.open(plane.https_port, tls=trusting(AUTHORITY.cert_pem.bytes()), server_name=WWW):
            pass  # the certificate is for both names


async def test_an_alias_gets_the_paths_of_the_host_and_its_own_name_in_redirects() -> None:
    async with data_plane() as plane, echoing("cart", {"zone-a": 1}) as (endpoint,):
        serve(plane, endpoint, web({"server-alias": "also.test"}, tls=TLS), certificate(SHOP, "also.test"))
        assert leads(await get(plane.http_port, "also.test", "/a")) == (308, "https://also.test/a")
        answer = await over_tls(plane, "also.test", "/a")
        assert (answer.status, answer.json()["service"]) == (200, "cart")


async def test_a_redirect_has_a_body_but_for_head_and_ends_a_connection_with_an_unread_body() -> None:
    async with data_plane() as plane:
        serve(plane, None, web({"permanent-redirect": "/new", "permanent-redirect-code": "308"}))
        answer = await raw(plane, request_bytes("GET", "/x", f"Host: {SHOP}"))
        assert (leads(answer), answer.ends_connection) == ((308, "http://shop.test/new"), False)
        assert b"308 Permanent Redirect" in answer.body
        head = await raw(plane, request_bytes("HEAD", "/x", f"Host: {SHOP}"), "HEAD")
        assert (leads(head), head.body) == ((308, "http://shop.test/new"), b"")
        posted = request_bytes("POST", "/x", f"Host: {SHOP}", "Content-Length: 3", body=b"abc")
        answer = await raw(plane, posted)
        assert (leads(answer), answer.ends_connection) == ((308, "http://shop.test/new"), True)


ATTACKS = [
    ("//evil.test/", f"Host: {SHOP}", "https://shop.test//evil.test"),
    ("/%0d%0aSet-Cookie:%20a=1", f"Host: {SHOP}", "https://shop.test/%0d%0aSet-Cookie:%20a=1"),
    ("/@evil.test", f"Host: {SHOP}", "https://shop.test/@evil.test"),
    ("/.evil.test", f"Host: {SHOP}", "https://shop.test/.evil.test"),
    ("http://shop.test/a", f"Host: {SHOP}", "https://shop.test/a"),
    ("http://shop.test", f"Host: {SHOP}", "https://shop.test"),
    ("http://shop.test?a=b", f"Host: {SHOP}", "https://shop.test/?a=b"),
    ("http://evil.test/", f"Host: {SHOP}", None),
    ("http://shop.test@evil.test/", f"Host: {SHOP}", None),
    ("http://user:pass@shop.test/", f"Host: {SHOP}", None),
    ("/", "Host: shop.test@evil.test", None),
    ("/", "Host: shop.test/evil.test", None),
    ("/", "Host: shop.test:80@evil.test", None),
    ("/", "Host: shop.test\\evil.test", None),
    ("/", "Host: ", None),
]


@pytest.mark.parametrize(("target", "host", "location"), ATTACKS)
@pytest.mark.parametrize("annotation", ["force-ssl-redirect", "from-to-www-redirect"])
async def test_no_target_and_no_host_leads_elsewhere(
    annotation: str, target: str, host: str, location: str | None
) -> None:
    www = annotation == "from-to-www-redirect"
    async with data_plane() as plane:
        serve(plane, None, web({annotation: "true"}))
        if www:
            target, host = target.replace("//shop", "//www.shop"), host.replace("shop", "www.shop")
        answer = await raw(plane, request_bytes("GET", target, host))
        if location is None:
            assert leads(answer) == (404 if target == "http://evil.test/" else 400, None)  # Host does not count there
        else:
            assert leads(answer) == (308, location.replace("https:", "http:") if www else location)
            assert answer.field("set-cookie") is None


@pytest.mark.parametrize(
    ("annotations", "location"),
    [
        ({"app-root": "//evil.test"}, "/evil.test"),
        ({"permanent-redirect": "//evil.test", "permanent-redirect-code": "302"}, "/evil.test"),
    ],
)
async def test_a_request_that_names_no_host_is_not_sent_to_another(annotations: dict[str, str], location: str) -> None:
    said = {f"nginx.ingress.kubernetes.io/{name}": value for name, value in annotations.items()}
    async with data_plane() as plane:
        serve(plane, None, ingress("web", {"http": {"paths": [path("/", "cart")]}}, annotations=said))
        assert leads(await raw(plane, request_bytes("GET", "/", version="1.0"))) == (302, location)


async def test_a_host_that_names_no_host_is_redirected_only_by_name() -> None:
    async with data_plane() as plane:
        serve(plane, None, web({"force-ssl-redirect": "true"}), config_map(http_redirect_code="307"))
        answer = await raw(plane, request_bytes("OPTIONS", "*", f"Host: {SHOP}"))
        assert leads(answer) == (307, "https://shop.test")
