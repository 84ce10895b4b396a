"""A changed route concerns its own hosts, and those of others stay as they are."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from ingress.translation.claims import HostClaim
from ingress.translation.gateway.remembered_hosts import RememberedHosts
from ingress.translation.gateway.route_facts import Name, RouteFacts
from ingress.translation.gateway.route_reading import ReadRoute
from ingress.translation.gateway.standings import Problem
from tests.unit.ingress.translation.gateway.objects import http_route

AROUND = ("settings",)


def read(name: str, *hosts: str, to: str = "web") -> ReadRoute:
    facts = RouteFacts((0.0, f"infra/{name}", "HTTPRoute"), names=tuple(("gw", each) for each in hosts))
    return ReadRoute(http_route(name, to=to), facts, (), dropped={}, resolved={})


def host(place: Name) -> HostClaim:
    return HostClaim(place[1], listener=place[0])


FIRST = (read("one", "a.test", "b.test"), read("two", "b.test"), read("three", "c.test"))


def remembering(routes: Sequence[ReadRoute] = FIRST) -> RememberedHosts:
    """In its second translation."""
    memory = RememberedHosts()
    memory.begin()
    by_name: dict[Name, list[ReadRoute]] = {}
    for each in routes:
        for name in each.facts.names:
            by_name.setdefault(name, []).append(each)
    memory.take(routes, AROUND, by_name, host)
    memory.begin()
    return memory


def test_only_hosts_of_the_changed_route_are_made_again() -> None:
    memory, newer = remembering(), read("one", "a.test", "b.test", to="other")
    routes = (newer, *FIRST[1:])
    concerned = memory.concerned(routes, AROUND)
    assert concerned is not None
    assert concerned == {("gw", "a.test"): [newer], ("gw", "b.test"): [newer, FIRST[1]]}
    hosts = memory.take_some(routes, concerned, lambda name: HostClaim(name[1], has_tls=True))
    assert [(each.name, each.has_tls) for each in hosts] == [("a.test", True), ("b.test", True), ("c.test", False)]
    memory.begin()
    assert memory.concerned(routes, AROUND) == {}


@pytest.mark.parametrize(
    "routes",
    [
        FIRST[1:],
        (read("one", "a.test"), *FIRST[1:]),
        (read("one", "a.test", "b.test", "d.test"), *FIRST[1:]),
        (read("other", "a.test", "b.test"), *FIRST[1:]),
        (msgspec.structs.replace(FIRST[0], oversized=Problem("UnsupportedValue", "Too many.")), *FIRST[1:]),
    ],
    ids=["gone", "fewer names", "more names", "another route", "refused"],
)
def test_routes_with_other_names_may_concern_any_host(routes: tuple[ReadRoute, ...]) -> None:
    assert remembering().concerned(routes, AROUND) is None


def test_what_hosts_have_in_common_concerns_all_of_them() -> None:
    assert remembering().concerned(FIRST, ("others",)) is None


def test_a_translation_that_failed_has_left_nothing_to_go_on_from() -> None:
    memory = remembering()
    memory.begin()
    assert memory.concerned(FIRST, AROUND) is None
