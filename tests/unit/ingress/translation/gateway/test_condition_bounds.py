"""All routes together are bounded, and the youngest give way."""

from __future__ import annotations

from ingress.translation.gateway.condition_bounds import bounded
from ingress.translation.gateway.reading import ReadGateways
from tests.unit.ingress.cluster import service
from tests.unit.ingress.translation.gateway.objects import gateway, http_route, listener, read_all

MATCHES = [{"path": {"value": "/a"}, "method": "GET", "headers": [{"name": "x", "value": "1"}]}, {}]


def reading() -> ReadGateways:
    rules = [{"matches": MATCHES, "backendRefs": [{"name": "web", "port": 80}]}]
    big = http_route("a-big", rules=rules, hostnames=["a.test", "b.test"])
    return read_all(
        gateway(listener(), listener("two", 8080)), big, http_route("b-small"), service("web", namespace="infra")
    )


def test_routes_without_room_are_refused_and_smaller_ones_still_fit() -> None:
    routes = reading().routes
    assert [each.refused for each in bounded(routes)] == [None, None]
    big, small = bounded(routes, most=5)
    assert big.refused is not None
    assert (big.refused.reason, small.refused) == ("UnsupportedValue", None)
    assert [each.refused is None for each in bounded(routes, most=16)] == [True, False]


def test_a_namespace_with_many_conditions_refuses_no_route_of_another() -> None:
    rules = [{"matches": MATCHES, "backendRefs": [{"name": "web", "port": 80}]}]
    everybody = listener(allowedRoutes={"namespaces": {"from": "All"}})
    old = http_route("a-old", rules=rules, hostnames=["a.test", "b.test"], namespace="greedy")
    web = service("web", namespace="greedy"), service("web", namespace="infra")
    routes = read_all(gateway(everybody), old, http_route("b-young", namespace="infra"), *web).routes
    by_namespace = {each.route.metadata.namespace: each.refused for each in bounded(routes, most=4)}
    assert by_namespace["infra"] is None
    assert by_namespace["greedy"] is not None
