"""What Ingresses and the ConfigMap say about responses and their fields, over real sockets, and attacks on it."""

from __future__ import annotations

import pytest

from ingress.findings import Finding
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
)
from tests.integration.wire import Connection, Response, get

HOST = "shop.test"
_SPOOFED = {"x-using", "x-forwarded-proto", "x-gone", "x-bad", "x-kept"}
CONTEXT = TranslationContext(allow_local_endpoints=True)


def serve(
    plane: DataPlane,
    endpoint: EchoEndpoint,
    annotations: dict[str, str],
    *more: Document,
    settings: dict[str, str] | None = None,
) -> tuple[Finding, ...]:
    named = {f"nginx.ingress.kubernetes.io/{name}": value for name, value in annotations.items()}
    web = ingress("web", rule(HOST, path("/", "cart")), annotations=named)
    slices = (service("cart"), endpoint_slice(endpoint))
    return plane.serve((ingress_class(), web, *slices, config_map(**settings or {}), *more), CONTEXT)


def fields_map(name: str, namespace: str, data: dict[str, str]) -> Document:
    return {**config_map(), "metadata": {"name": name, "namespace": namespace}, "data": data}


def cors_of(response: Response) -> dict[str, str]:
    return {name: value for name, value in response.fields if name.startswith("access-control-")}


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.test/https://a.shop.test",
        "evilhttps://a.shop.test",
        "https://a.shop.test.evil.test",
        "https://a.b.shop.test",
        "https://axshop.test",
        "https://a\tX-Evil:1.shop.test",
        "https://a%0d%0aX-Evil:1.shop.test",
        "*",
    ],
)
async def test_no_origin_talks_its_way_in(origin: str) -> None:
    annotations = {"enable-cors": "true", "cors-allow-origin": "https://*.shop.test, https://good.test"}
    async with data_plane() as plane, echoing("cart", {"zone-a": 1}) as (endpoint,):
        assert serve(plane, endpoint, annotations) == ()
        answer = await get(plane.http_port, HOST, "/", f"Origin: {origin}")
        assert (answer.status, cors_of(answer), answer.field("x-evil")) == (200, {}, None)
        allowed = await get(plane.http_port, HOST, "/", "Origin: https://a.shop.test")
        assert cors_of(allowed)["access-control-allow-origin"] == "https://a.shop.test"
        assert allowed.field("vary") == "Origin"


async def test_a_line_break_in_an_origin_is_refused_and_never_echoed() -> None:
    async with data_plane() as plane, echoing("cart", {"zone-a": 1}) as (endpoint,):
        serve(plane, endpoint, {"enable-cors": "true", "cors-allow-origin": "https://*.shop.test"})
        for brake in (b"\n", b"\r", b"\r\n ", b"\x00"):
            request = b"GET / HTTP/1.1\r\nHost: shop.test\r\nOrigin: https://a%bX-Evil: 1.shop.test\r\n\r\n" % brake
            async with await Connection.open(plane.http_port) as connection:
                answer = await connection.send(request)
            assert answer.field("access-control-allow-origin") is None
            assert (answer.status, answer.field("x-evil")) == (400, None)


@pytest.mark.parametrize("end", ["allow-headers", "allow-methods", "expose-headers", "allow-origin"])
async def test_no_annotation_breaks_a_head(end: str) -> None:
    name = f"cors-{end}"
    async with data_plane() as plane, echoing("cart", {"zone-a": 1}) as (endpoint,):
        (finding,) = serve(plane, endpoint, {"enable-cors": "true", name: "a\r\nX-Evil: 1"})
        assert name in finding.message
        answer = await get(plane.http_port, HOST, "/", "Origin: https://a.test")
        assert (answer.status, answer.field("x-evil")) == (200, None)


async def test_preflights_need_no_endpoint() -> None:
    async with data_plane() as plane, echoing("other", {"zone-a": 1}) as (endpoint,):
        serve(plane, endpoint, {"enable-cors": "true"})
        request = b"OPTIONS / HTTP/1.1\r\nHost: shop.test\r\nOrigin: https://a.test\r\n\r\n"
        async with await Connection.open(plane.http_port) as connection:
            answer = await connection.send(request, method="OPTIONS")
            assert (answer.status, cors_of(answer)["access-control-allow-origin"]) == (204, "*")
            assert answer.field("content-length") is None
            denied = await connection.get(HOST)  # the connection goes on
            assert (denied.status, cors_of(denied)["access-control-allow-origin"]) == (503, "*")


async def test_the_fields_of_an_ingress_follow_their_configmap_and_close_the_path_if_one_is_not_allowed() -> None:
    annotations, settings = {"custom-headers": "shop/extra"}, {"global_allowed_response_headers": "x-a, X-B"}
    async with data_plane() as plane, echoing("cart", {"zone-a": 1}) as (endpoint,):
        for data, status in (({"X-A": "$host"}, 200), ({"X-B": "2"}, 200), ({"X-C": "3"}, 503), ({"X-A": "1"}, 200)):
            serve(plane, endpoint, annotations, fields_map("extra", "shop", data), settings=settings)
            answer = await get(plane.http_port, HOST)
            ((name, value),) = data.items()
            assert (answer.status, answer.field(name.lower())) == (status, value if status == 200 else None)
        (finding,) = serve(plane, endpoint, annotations, settings=settings)
        assert (finding.reason, (await get(plane.http_port, HOST)).status) == ("ConfigMapMissing", 503)


async def test_endpoints_get_the_fields_of_the_operator_whatever_clients_send() -> None:
    data = {"X-Using": "zonal", "X-Forwarded-Proto": "https", "X-Gone": "", "X-Bad": "$nothing"}
    settings = {"proxy_set_headers": "zonal/set"}
    async with data_plane() as plane, echoing("cart", {"zone-a": 1}) as (endpoint,):
        (finding,) = serve(plane, endpoint, {}, fields_map("set", "zonal", data), settings=settings)
        assert "X-Bad" in finding.message
        spoofed = ("X-Using: me", "x-using: again", "X-Forwarded-Proto: gopher", "X-Gone: 1", "X-Bad: 1", "X-Kept: 1")
        received = (await get(plane.http_port, HOST, "/", *spoofed)).json()["headers"]
        named = sorted((name.lower(), value) for name, value in received if name.lower() in _SPOOFED)
        assert named == [("x-forwarded-proto", "https"), ("x-kept", "1"), ("x-using", "zonal")]
