"""Where a changed request goes, on real sockets: what a canary and an override are counted and logged as."""

from __future__ import annotations

from collections import Counter

import msgspec

from balancer.errors import ErrorKind
from balancer.matching.affinity import Stickiness
from balancer.metrics.definitions import REQUESTS, RETRIES, ZONE_DECISIONS
from balancer.model.edits import EditFields, RequestEdit
from balancer.model.endpoints import Backend, BackendKey, Endpoint
from balancer.model.policies import Affinity, RoutePolicy
from balancer.model.publication import RoutingModel
from balancer.model.rewriting import PathReplacement
from balancer.model.routes import Canary, Route, ServiceName
from tests import builders
from tests.fakes.endpoints import ScriptedEndpoint, answering
from tests.unit.balancer.proxy.standing import GET, OK, echoes, get, refusing, standing

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


async def test_shares_are_those_of_the_weights_and_an_invalid_share_answers_for_itself() -> None:
    """Nobody takes over the share of a branch that is invalid, or has no endpoints."""
    names = ServiceName("other", "next")
    branches = (
        builders.branch(CART, weight=2),
        builders.branch(NEXT, weight=1, service=names),
        builders.branch(None, weight=1, error=ErrorKind.BACKEND_INVALID),
    )
    route = msgspec.structs.replace(builders.route(), branches=branches)
    async with ScriptedEndpoint(answering(OK)) as cart:
        model = serving(route, builders.backend(CART, [placed(cart, "zone-a")]), builders.backend(NEXT))
        async with standing(model) as proxy:
            statuses = Counter[int]()
            async with proxy.client() as client:
                for _ in range(100):
                    statuses[(await client.ask(GET)).status] += 1
                await proxy.idle()
            assert set(statuses) == {200, 500, 503}
            counted = {(labels[0], labels[2]): number for labels, number in proxy.metric(REQUESTS).items()}
            assert counted == {("shop", "cart"): statuses[200], ("other", "next"): statuses[503],
                               ("shop", "missing"): statuses[500]}  # fmt: skip
            assert {line["ingress"] for line in proxy.log()} == {"web", "shop/web"}


async def test_a_call_to_an_invalid_share_is_unavailable() -> None:
    invalid = builders.branch(None, error=ErrorKind.BACKEND_INVALID)
    route = msgspec.structs.replace(builders.route(), branches=(invalid,))
    async with standing(serving(route)) as proxy, proxy.client() as client:
        called = await client.ask(GET.replace(b"\r\n\r\n", b"\r\nContent-Type: application/grpc\r\n\r\n"))
        assert (called.status, called.fields[b"grpc-status"]) == (200, b"14")


async def test_edits_of_route_and_branch_change_request_and_response_of_that_branch() -> None:
    edit = RequestEdit(set=(("X-A", "route"),), add=(("X-B", "route"),))
    branch = builders.branch(
        CART,
        request_edits=(RequestEdit(set=(("X-A", "branch"),)),),
        response_rules=(EditFields(add=(("X-Branch", "cart"),), remove=("content-type",)),),
    )
    other = builders.branch(None, weight=0, error=ErrorKind.BACKEND_INVALID)
    route = msgspec.structs.replace(
        builders.route("/a"),
        branches=(branch, other),
        request_edits=(edit,),
        rewriting=PathReplacement("/new", "/a"),
        policy=RoutePolicy(host="inner.test"),
    )
    async with ScriptedEndpoint(echoes) as cart:
        model = serving(route, builders.backend(CART, [placed(cart, "zone-a")]))
        async with standing(model) as proxy, proxy.client() as client:
            response = await client.ask(get(b"/a/x%20y?q", host=b"shop.test"))
    assert response.fields[b"x-branch"] == b"cart"
    first, *lines = response.body.split(b"\r\n")
    assert first == b"GET /new/x%20y?q HTTP/1.1"
    assert {b"X-A: branch", b"X-B: route", b"Host: inner.test", b"X-Forwarded-Host: shop.test"} <= set(lines)
    assert b"X-A: route" not in lines
