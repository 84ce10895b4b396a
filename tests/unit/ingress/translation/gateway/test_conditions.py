"""Matches become places in the table of a host."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from balancer.matching.gates.making import make_gate
from balancer.matching.host_compiling import compiling_host
from balancer.model.conditions import Conditions, ValueCondition
from balancer.model.routes import Host, PathKind, TrailingSlash
from balancer.runtime.steps import finished
from ingress.translation.gateway.conditions import MatchPlace, grpc_place, http_place, service_expression
from tests import builders as build
from tests.unit.ingress.translation.gateway.objects import http_route, read


def http(**match: Any) -> MatchPlace | None:
    return http_place(http_route(rules=[{"matches": [match]}]).spec.rules[0].matches[0])


def grpc(**match: Any) -> MatchPlace | None:
    return grpc_place(read("GRPCRoute", "calls", rules=[{"matches": [match]}]).spec.rules[0].matches[0])


def test_a_match_without_anything_is_every_path() -> None:
    assert http() == MatchPlace("/", PathKind.PREFIX, Conditions(), rank=(0, 0, 0, 0))


def test_of_equal_names_the_first_one_counts() -> None:
    fields = [{"name": "A", "value": "1"}, {"name": "a", "value": "2"}]
    query = [{"name": "q", "value": "x", "type": "RegularExpression"}]
    found = http(method="GET", headers=fields, queryParams=query, path={"type": "Exact", "value": "/x"})
    assert found is not None
    assert found.conditions == Conditions(
        "GET", (ValueCondition("a", "1"),), (ValueCondition("q", r"\A(?:x)\z", is_expression=True),)
    )
    assert (found.kind, found.rank) == (PathKind.EXACT, (0, -1, -1, -1))


def test_a_path_is_decoded_as_those_of_requests_are() -> None:
    for kind in ("Exact", "PathPrefix"):
        found = http(path={"type": kind, "value": "/a%20b"})
        assert found is not None
        assert found.path == "/a b"


def test_longer_expressions_come_first() -> None:
    short, long = (http(path={"type": "RegularExpression", "value": text}) for text in ("/a", "/a[0-9]"))
    assert short is not None
    assert long is not None
    assert long.rank < short.rank
    assert long.expression == r"(?-i)\A(?:/a[0-9])\z"


@pytest.mark.parametrize(
    "match",
    [
        {"path": {"type": "Odd", "value": "/"}},
        {"path": {"type": "Exact", "value": "x"}},
        {"path": {"type": "PathPrefix", "value": "/%ff"}},
        {"path": {"type": "RegularExpression", "value": "/(["}},
        {"headers": [{"name": "a", "type": "Odd"}]},
        {"headers": [{"name": "a", "type": "RegularExpression", "value": "(["}]},
    ],
)
def test_what_cannot_be_read_has_no_place(match: dict[str, Any]) -> None:
    assert http(**match) is None


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        (None, "/", PathKind.PREFIX),
        ({"service": "e.E", "method": "One"}, "/e.E/One", PathKind.EXACT),
        ({"service": "e.E"}, "/e.E", PathKind.PREFIX),
        ({"method": "One"}, r"(?-i)\A(?:/(?:[^/]+)/(?:One))\z", PathKind.REGEX),
        ({"type": "RegularExpression", "service": "e[.]."}, r"(?-i)\A(?:/(?:e[.].)/(?:[^/]+))\z", PathKind.REGEX),
    ],
)
def test_a_method_is_a_path_and_calls_say_that_they_are_calls(method: Any, path: str, kind: PathKind) -> None:
    found = grpc(**({"method": method} if method else {}))
    assert found is not None
    assert (found.path, found.kind) == (path, kind)
    assert [each.name for each in found.conditions.fields] == ["content-type"]


def test_a_method_that_cannot_be_read_has_no_place() -> None:
    assert grpc(method={"type": "Odd", "service": "a"}) is None
    assert grpc(method={"type": "RegularExpression", "service": "(["}) is None
    assert grpc(headers=[{"name": "a", "type": "Odd"}]) is None


def test_of_calls_the_longer_service_comes_first_then_the_longer_method() -> None:
    places = [
        grpc(method=each)
        for each in (
            {"type": "RegularExpression", "service": "a[.]B"},
            {"service": "a.B", "method": "One"},
            {"service": "a.B"},
            {"method": "AMethodWithALongName"},
            {},
        )
    ]
    ranks = [each.rank for each in places if each is not None]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize(
    "expression",
    ["\\Q/a", "/a)(b", "/a|b)|(c", *(f"/{'a' * count}" for count in range(248, 256)), "/" + "(?i)" * 1023],
)
def test_an_expression_has_a_place_only_if_it_compiles_where_it_is_searched_for(expression: str) -> None:
    """Workers compile it inside of a group that ends with the text, and the group takes instructions, too."""
    for match in (
        {"path": {"type": "RegularExpression", "value": expression}},
        {"headers": [{"name": "a", "type": "RegularExpression", "value": expression}]},
        {"queryParams": [{"name": "a", "type": "RegularExpression", "value": expression}]},
    ):
        compiles_in_workers(http(**match))
    for method in ({"service": expression}, {"method": expression}, {"service": expression, "method": "[ab]{200}"}):
        compiles_in_workers(grpc(method={"type": "RegularExpression", **method}))


def compiles_in_workers(place: MatchPlace | None) -> None:
    if place is not None:
        route = msgspec.structs.replace(
            build.route(place.path), kind=place.kind, conditions=place.conditions, expression=place.expression
        )
        finished(compiling_host(Host("a.test", (route,), trailing_slash=TrailingSlash.SAME), None, make_gate))


def test_a_whole_service_of_any_letters_becomes_an_expression_of_its_bytes() -> None:
    expression = service_expression("/caf\u00e9.S(")
    found = re.search(expression.encode().replace(b"(?-i)", b"").replace(rb"\z", rb"\Z"), "/caf\u00e9.S(/Do".encode())
    assert expression.isascii()
    assert found is not None


def test_what_costs_more_than_a_look_up_is_told() -> None:
    one, two = ({"name": name, "value": "1"} for name in "ab")
    searched = {**one, "type": "RegularExpression"}
    asked = [http(headers=[one]), http(headers=[one, two]), http(headers=[one], queryParams=[two]), http()]
    assert [each is not None and each.compared for each in asked] == [0, 1, 1, 0]
    assert [each is not None and each.compared for each in (http(headers=[searched]), grpc(headers=[searched]))] == [
        4,
        4,
    ]
    assert [each is not None and each.compared for each in (grpc(), grpc(method={"service": "a"}))] == [0, 1]
    costly = http(headers=[searched]), http(path={"type": "RegularExpression", "value": "/a"}), http(headers=[one])
    assert [each is not None and each.is_costly for each in costly] == [True, True, False]
