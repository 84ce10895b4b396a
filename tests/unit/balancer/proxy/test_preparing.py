"""Where a changed request goes, on real sockets: what a canary and an override are counted and logged as."""

from __future__ import annotations

import msgspec

from balancer.matching.affinity import Stickiness
from balancer.metrics.definitions import REQUESTS, RETRIES, ZONE_DECISIONS
from balancer.model.endpoints import Backend, BackendKey, Endpoint
from balancer.model.policies import Affinity
from balancer.model.publication import RoutingModel
from balancer.model.routes import Canary, Route
from tests import builders
from tests.fakes.endpoints import ScriptedEndpoint, answering
from tests.unit.balancer.proxy.standing import GET, OK, refusing, standing

CART, NEXT = "shop/cart:80", "shop/next:80"
NEXT_OK = OK.replace(b"hello", b"canary").replace(b": 5", b": 6")


def placed(endpoint: ScriptedEndpoint, zone: str) -> Endpoint:
    return builders.endpoint(endpoint.address, port=endpoint.port, zone=zone)


def serving(route: Route, *backends: Backend) -> RoutingModel:
    """A replica in zone-a that prefers its zone."""
    aware = [msgspec.structs.replace(each, zone_policy=builders.PREFER_ZONE) for each in backends]
    return builders.model(*aware, hosts=[builders.host("shop.test", route)])


def pinned_to(endpoint: Endpoint, key: str = CART) -> bytes:
    """A GET with the cookie of an endpoint."""
    stickiness = Stickiness(Affinity(persistent=True), BackendKey(key))
    name = stickiness.persistent_key(f"{endpoint.address}:{endpoint.port}")
    return GET.replace(b"\r\n\r\n", b"\r\nCookie: INGRESSCOOKIE=%b|%b\r\n\r\n" % (name, stickiness.mark))


async def test_a_canary_is_counted_and_logged_under_its_own_names() -> None:
    route = builders.route(canaries=[builders.canary(NEXT, rules=Canary(header="X-Try"))])
    async with ScriptedEndpoint(answering(OK)) as cart, ScriptedEndpoint(answering(NEXT_OK)) as trial:
        model = serving(
            route, builders.backend(CART, [placed(cart, "zone-a")]), builders.backend(NEXT, [placed(trial, "zone-b")])
        )
        async with standing(model) as proxy:
            async with proxy.client() as client:
                sent = await client.ask(GET.replace(b"\r\n\r\n", b"\r\nX-Try: always\r\n\r\n"))
                assert [sent.body, (await client.ask(GET)).body] == [b"canary", b"hello"]
                await proxy.idle()
            assert proxy.metric(REQUESTS) == {
                ("shop", "trial", "next", "zone-a", "zone-b", "remote", "2xx"): 1,
                ("shop", "web", "cart", "zone-a", "zone-a", "local", "2xx"): 1,
            }
            assert proxy.metric(ZONE_DECISIONS) == {
                ("shop", "next", "zone_empty"): 1,
                ("shop", "cart", "zone_local"): 1,
            }
            assert [line["ingress"] for line in proxy.log()] == ["trial", "web"]


async def test_a_client_that_is_held_in_another_zone_is_an_override_and_the_miss_is_counted() -> None:
    route = builders.route(affinity=Affinity(persistent=True))
    async with ScriptedEndpoint(answering(OK)) as here, ScriptedEndpoint(answering(OK)) as there:
        far = placed(there, "zone-b")
        model = serving(route, builders.backend(CART, [placed(here, "zone-a"), far]))
        async with standing(model) as proxy:
            async with proxy.client() as client:
                for _ in range(3):
                    assert (await client.ask(pinned_to(far))).status == 200
                await proxy.idle()
            assert there.requests == 3
            assert proxy.metric(ZONE_DECISIONS) == {("shop", "cart", "affinity_override"): 3}
            assert proxy.metric(REQUESTS) == {("shop", "web", "cart", "zone-a", "zone-b", "remote", "2xx"): 3}


async def test_when_a_held_endpoint_fails_the_retry_is_the_balancers() -> None:
    route = builders.route(affinity=Affinity(persistent=True))
    with refusing() as dead:
        async with ScriptedEndpoint(answering(OK), address="127.0.0.2") as alive:
            model = serving(route, builders.backend(CART, [dead, placed(alive, "zone-b")]))
            async with standing(model) as proxy:
                async with proxy.client() as client:
                    answer = await client.ask(pinned_to(dead))
                    assert (answer.status, b"set-cookie" in answer.fields) == (200, False)
                    await proxy.idle()
                assert proxy.metric(RETRIES) == {("shop", "cart", "connect_refused"): 1}
                assert proxy.metric(ZONE_DECISIONS) == {("shop", "cart", "retry_other_zone"): 1}
