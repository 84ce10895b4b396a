"""Expressions and compared matches of routes are bounded, and a namespace at the bound refuses no route of another."""

from __future__ import annotations

from typing import Any

import pytest

from balancer.matching.regexes import INSTRUCTIONS_MAX
from ingress.objects.gateway_routes import HttpRoute
from ingress.translation.gateway.expression_bounds import CHARACTERS_MOST, TOO_LONG, characters_of, too_long
from ingress.translation.gateway.reading import ReadGateways
from tests.unit.ingress.cluster import service
from tests.unit.ingress.translation.gateway.objects import conditions, gateway, http_route, listener, read, read_all

ALL = {"namespaces": {"from": "All"}}
WEB = service("web", namespace="greedy"), service("web", namespace="infra")
WIDE = "/(a|b)*c[0-9]*"


def path(text: str) -> dict[str, Any]:
    return {"path": {"type": "RegularExpression", "value": text}}


def route(name: str, *matches: dict[str, Any], namespace: str = "greedy", hostname: str = "a.test") -> HttpRoute:
    rules = [{"matches": list(matches), "backendRefs": [{"name": "web", "port": 80}]}]
    return http_route(name, namespace=namespace, rules=rules, hostnames=[hostname])


def accepted(*routes: Any) -> list[str]:
    found = read_all(gateway(listener(allowedRoutes=ALL)), *WEB, *routes)
    return sorted(each.route.metadata.name for each in found.routes if each.refused is None)


def test_characters_are_counted_by_what_routes_say() -> None:
    values = [{"name": "x", "type": "RegularExpression", "value": "a.*"}, {"name": "y", "value": "b"}]
    assert characters_of(route("r", {**path("/a.*"), "headers": values, "queryParams": values}, {})) == 10
    method = {"type": "RegularExpression", "service": "a.", "method": "b"}
    calls = read("GRPCRoute", "g", rules=[{"matches": [{"method": method, "headers": values}, {}]}])
    assert (characters_of(calls), characters_of(read("TCPRoute", "t", rules=[]))) == (6, 0)
    assert characters_of(route("r", path(r"/\pL\PN"))) == 207


def test_the_younger_routes_of_a_namespace_have_no_room_for_characters() -> None:
    routes = [route(name, namespace=namespace) for name, namespace in (("b", "x"), ("a", "x"), ("c", "x"), ("d", "y"))]
    assert too_long(routes, [CHARACTERS_MOST, CHARACTERS_MOST, 0, CHARACTERS_MOST]) == {0}
    assert too_long(routes, [1, CHARACTERS_MOST, 0, CHARACTERS_MOST]) == {0}
    assert too_long(routes, [1, CHARACTERS_MOST - 1, 0, CHARACTERS_MOST]) == frozenset()


def test_a_route_without_room_for_its_characters_is_not_read() -> None:
    """What is wrong with its expression is not known, because it was never compiled."""
    texts = [{"name": "x", "type": "RegularExpression", "value": "(" * 4096} for _ in range(16)]
    young = route("z", *({**path("/["), "headers": texts} for _ in range(4)))
    modest = route("modest", path("/m.*"), namespace="infra")
    found = read_all(gateway(listener(allowedRoutes=ALL)), *WEB, young, modest)
    assert conditions(found, "HTTPRoute", "z")["Accepted"] == ("False", "UnsupportedValue")
    assert refused(found, "z") == TOO_LONG.message
    assert [each.places for each in found.routes if each.route.metadata.name == "z"] == [()]
    assert conditions(found, "HTTPRoute", "modest")["Accepted"][0] == "True"


def refused(found: ReadGateways, name: str) -> str:
    (standing,) = [each for each in found.standings if each.name == name]
    (entry,) = standing.status.parents  # type: ignore[union-attr]
    return next(each.message for each in entry.conditions if each.type == "Accepted")


def test_characters_of_paths_count_for_each_hostname() -> None:
    """Workers compile the expressions of each host."""
    names = [f"h{number}.test" for number in range(16)]
    texts = [path(f"/{number:03}{'a' * 200}") for number in range(64)]
    rules = [{"matches": texts, "backendRefs": [{"name": "web", "port": 80}]}]
    old, young = (http_route(name, namespace="greedy", rules=rules, hostnames=names) for name in ("a", "b"))
    modest = route("modest", path("/m.*"), namespace="infra", hostname="h0.test")
    assert accepted(old, young, modest) == ["a", "modest"]


@pytest.mark.parametrize("count", [3, 30])
def test_wide_expressions_of_a_greedy_namespace_leave_room_for_another(count: int) -> None:
    greedy = [route(f"g{number:02}", path(f"{WIDE * 4}{number}")) for number in range(count)]
    modest = route("modest", path(WIDE), namespace="infra")
    found = read_all(gateway(listener(allowedRoutes=ALL)), *WEB, *greedy, modest)
    kept = [each for each in found.routes if each.refused is None]
    taken = sum(each.places[0][0].cost.instructions for each in kept if each.places[0][0].cost is not None)
    assert taken <= 2 * INSTRUCTIONS_MAX
    assert "modest" in [each.route.metadata.name for each in kept]
    if count > 3:
        assert conditions(found, "HTTPRoute", "g29")["Accepted"] == ("False", "UnsupportedValue")
        assert "a.test" in refused(found, "g29")


def test_narrow_expressions_of_a_greedy_namespace_leave_room_for_another() -> None:
    """Each may be repeated, optional or alternative somewhere, and all begin alike."""
    greedy = [route(f"g{n}", *(path(f"/(a|b)/{n}/{each}/.*") for each in range(100))) for n in range(4)]
    modest = route("modest", path("/(a|b)/.*"), namespace="infra")
    assert accepted(*greedy, modest) == ["g0", "g1", "modest"]


def test_expressions_of_other_hostnames_take_no_room() -> None:
    names = [f"g{number:02}" for number in range(30)]
    assert accepted(*(route(each, path(WIDE * 4), hostname=f"{each}.test") for each in names)) == names


def test_matches_that_are_compared_are_bounded() -> None:
    """Each wants a value of a field by an expression, and a request without the field is compared with all of them."""
    fields = [[{"name": "x", "type": "RegularExpression", "value": f"a{number}.*"}] for number in range(600)]
    greedy = [
        route(f"g{begin}", *({"headers": each} for each in fields[begin : begin + 100])) for begin in range(0, 600, 100)
    ]
    modest = route("modest", {"headers": fields[0]}, namespace="infra")
    assert accepted(*greedy, modest) == ["g0", "g100", "g200", "g300", "g400", "modest"]


def test_whole_services_are_compared_because_calls_may_be_searched_for_them() -> None:
    matches = [{"method": {"service": f"s{number}"}} for number in range(2_049)]
    calls = read(
        "GRPCRoute",
        "calls",
        parentRefs=[{"name": "gw"}],
        rules=[{"matches": matches, "backendRefs": [{"name": "web", "port": 80}]}],
    )
    assert accepted(calls) == []
