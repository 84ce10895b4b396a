"""What is asked of every route is worked out once."""

from __future__ import annotations

from typing import Any

from ingress.translation.gateway.route_facts import RouteFacts
from tests.unit.ingress.translation.gateway.objects import gateway, http_route, listener, read_all

MATCHES = [{"path": {"value": "/a"}, "method": "GET", "headers": [{"name": "x", "value": "1"}]}, {}]


def facts(**spec: Any) -> RouteFacts:
    (read,) = read_all(gateway(listener(), listener("two", 8080)), http_route(**spec)).routes
    return read.facts


def test_names_are_those_of_each_listener_once() -> None:
    twice = [{"name": "gw"}, {"name": "gw", "sectionName": "two"}]
    found = facts(hostnames=["a.test", "b.test"], parentRefs=twice)
    assert len(found.names) == 4
    assert {name for _, name in found.names} == {"a.test", "b.test"}
    assert {key for key, _ in found.names} == found.listeners
    assert found.gateways == {("infra", "gw")}


def test_conditions_count_for_each_name_of_each_listener() -> None:
    assert facts(rules=[{"matches": MATCHES}], hostnames=["a.test", "b.test"]).conditions == 4 * 4
    assert facts().conditions == 2


def test_a_route_that_is_nowhere_attached_has_no_names() -> None:
    found = facts(parentRefs=[{"name": "gw", "sectionName": "no"}])
    assert (found.names, found.listeners, found.gateways, found.conditions) == ((), frozenset(), frozenset(), 0)


def test_redirects_and_several_matches_are_told() -> None:
    redirect = {"type": "RequestRedirect", "requestRedirect": {"scheme": "https"}}
    assert (facts().redirects, facts(rules=[{"filters": [redirect]}]).redirects) == (False, True)
    assert (facts().has_matches, facts(rules=[{"matches": MATCHES}]).has_matches) == (False, True)
    assert facts(rules=[{}, {}]).has_matches
