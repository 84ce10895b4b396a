"""The answers of the proxy itself, as clients get them."""

from __future__ import annotations

import msgspec

from balancer.model.edits import SetFields
from balancer.model.redirects import HttpsRedirect
from tests import builders
from tests.fakes.endpoints import ScriptedEndpoint
from tests.unit.balancer.proxy.standing import GET, echoes, get, shop, standing


async def test_head_is_answered_without_a_body() -> None:
    async with standing(shop([], hosts=[builders.host("a.test")])) as proxy, proxy.client() as client:
        for _ in range(2):
            response = await client.ask(GET.replace(b"GET", b"HEAD"), bodiless=True)
            assert response.status == 404
        assert (await client.ask(GET)).status == 404


async def test_a_plain_request_is_redirected_when_its_route_wants_tls() -> None:
    route = msgspec.structs.replace(builders.route(), gates=(HttpsRedirect(),))
    model = builders.model(builders.backend(), hosts=[builders.host("shop.test", route)])
    async with standing(model) as proxy, proxy.client() as client:
        response = await client.ask(get(b"/a/?b=c", host=b"Shop.test:8080"))
        assert (response.status, response.fields[b"location"]) == (308, b"https://shop.test/a/?b=c")
        assert (await client.ask(get(b"/"))).status == 308


async def test_the_edits_of_a_route_change_responses_of_endpoints_and_of_the_proxy() -> None:
    rules = (SetFields((("X-Frame-Options", "DENY"),)),)
    async with ScriptedEndpoint(echoes) as endpoint:
        served = shop([endpoint])
        (host,) = served.hosts
        route = msgspec.structs.replace(host.routes[0], response_rules=rules)
        nowhere = msgspec.structs.replace(builders.route("/nowhere", to=None), response_rules=rules)
        model = msgspec.structs.replace(served, hosts=(builders.host("shop.test", route, nowhere),))
        async with standing(model) as proxy, proxy.client() as client:
            for target, status in ((b"/", 200), (b"/nowhere", 503)):
                response = await client.ask(get(target))
                assert (response.status, response.fields[b"x-frame-options"]) == (status, b"DENY")
