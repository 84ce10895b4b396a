"""Location, Refresh and cookies of endpoints over real sockets: rewritten as asked, and zonal's own left alone."""

from __future__ import annotations

from typing import NamedTuple

from ingress.settings.context import TranslationContext
from tests.fakes.endpoints import ScriptedEndpoint, answering
from tests.integration.in_process import data_plane
from tests.integration.manifests import config_map, endpoint_slice, ingress, ingress_class, path, rule, service
from tests.integration.wire import Response, get

SHOP = "shop.test"
CONTEXT = TranslationContext(allow_local_endpoints=True)
ANSWER = (
    b"HTTP/1.1 302 Found\r\nLocation: http://inner.test/a\r\nRefresh: 5; url=http://inner.test/b\r\n"
    b"Set-Cookie: a=1; Domain=inner.test; Path=/one/x; HttpOnly\r\nSet-Cookie: b=2\r\n"
    b"X-Location: http://inner.test/\r\nContent-Length: 0\r\n\r\n"
)


class Placed(NamedTuple):
    """Where the endpoint of the Service is."""

    port: int
    service: str = "cart"
    zone: str | None = None


async def asked(settings: dict[str, str], **annotations: str) -> Response:
    said = {f"nginx.ingress.kubernetes.io/{name.replace('_', '-')}": value for name, value in annotations.items()}
    async with data_plane() as plane, ScriptedEndpoint(answering(ANSWER)) as endpoint:
        web = ingress("web", rule(SHOP, path("/", "cart")), annotations=said)
        documents = (ingress_class(), service("cart"), endpoint_slice(Placed(endpoint.port)), web)
        findings = plane.serve((*documents, config_map(**settings)), CONTEXT)
        assert findings == ()
        return await get(plane.http_port, SHOP)


def cookies(response: Response) -> list[str]:
    return [value for name, value in response.fields if name == "set-cookie"]


async def test_everything_goes_on_as_it_is_unless_asked_for() -> None:
    answer = await asked({})
    assert answer.field("location") == "http://inner.test/a"
    assert cookies(answer) == ["a=1; Domain=inner.test; Path=/one/x; HttpOnly", "b=2"]


async def test_fields_are_rewritten_by_annotations_which_replace_the_settings() -> None:
    answer = await asked(
        {"proxy_cookie_path": "/one/ /no/", "proxy_redirect_from": "http://inner.test/"},
        proxy_redirect_to="$scheme://$host/out/",
        proxy_cookie_domain="inner.test shop.test",
        proxy_cookie_path="/one/ /",
    )
    assert answer.field("location") == "http://shop.test/out/a"
    assert answer.field("refresh") == "5; url=http://shop.test/out/b"
    assert answer.field("x-location") == "http://inner.test/"
    assert cookies(answer) == ["a=1; Domain=shop.test; Path=/x; HttpOnly", "b=2"]


async def test_the_cookie_of_affinity_is_not_rewritten() -> None:
    answer = await asked(
        {}, affinity="cookie", session_cookie_path="/one/x", proxy_cookie_path="/one/ /", proxy_redirect_from="off"
    )
    first, second, own = cookies(answer)
    assert (first, second) == ("a=1; Domain=inner.test; Path=/x; HttpOnly", "b=2")
    assert "Path=/one/x" in own


async def test_a_path_that_comes_out_gets_scheme_and_host_unless_it_shall_be_relative() -> None:
    both = {"proxy_redirect_from": "~*^HTTP://inner[.]test/(.*)", "proxy_redirect_to": "/in/$1"}
    assert (await asked({}, **both)).field("location") == "http://shop.test/in/a"
    assert (await asked({}, **both, relative_redirects="true")).field("location") == "/in/a"
