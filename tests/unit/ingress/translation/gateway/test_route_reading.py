"""One route: its rules, its references, its parents."""

from __future__ import annotations

from typing import Any

from ingress.objects.gateway_references import ParentReference
from ingress.sources.inventory import Inventory
from ingress.translation.gateway.grants import Grants, Referrer
from ingress.translation.gateway.listeners import ListenerOwner
from ingress.translation.gateway.namespaces import NamespaceLabels
from ingress.translation.gateway.route_reading import (
    ReadRoute,
    RouteSurroundings,
    owner_named,
    read_route,
    references_of,
    referrer_of,
)
from ingress.translation.gateway.service_references import NamedPort
from tests.unit.ingress.cluster import inventory, service
from tests.unit.ingress.translation.gateway.objects import OWNER, http_route, read, read_one

BAD = {"matches": [{"method": "BREW"}]}


def reading(**said: Any) -> ReadRoute:
    known = inventory(service("web", namespace="infra"))
    return read_route(http_route(**said), around(known), known)


def around(known: Inventory, *defaults: tuple[str, str]) -> RouteSurroundings:
    return RouteSurroundings({OWNER: (read_one(),)}, NamespaceLabels(known), Grants(known), defaults)


def test_parents_that_are_not_ours_are_left_out() -> None:
    found = reading(parentRefs=[{"name": "gw"}, {"name": "theirs"}, {"name": "gw", "kind": "Service", "group": ""}])
    assert [each.reference.name for each in found.parents] == ["gw"]
    assert found.ports == {NamedPort("infra", "web", 80, "http")}


def test_a_route_is_refused_if_no_rule_is_left() -> None:
    assert reading(rules=[BAD, {}]).refused is None
    refused = reading(rules=[BAD]).refused
    assert refused is not None
    assert refused.reason == "UnsupportedValue"
    assert reading(rules=[{}, BAD]).dropped.keys() == {1}


def test_the_first_reference_that_leads_nowhere_is_told() -> None:
    rules = [{"backendRefs": [{"name": "web", "port": 80}, {"name": "no", "port": 80}, {"name": "x", "kind": "X"}]}]
    unresolved = reading(rules=rules).unresolved
    assert unresolved is not None
    assert unresolved.reason == "BackendNotFound"


def test_mirrors_are_references_too() -> None:
    mirror = {"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "copy", "port": 80}}}
    route = http_route(rules=[{"filters": [mirror], "backendRefs": [{"name": "web"}]}])
    assert [each.name for each in references_of(route)] == ["web", "copy"]
    assert [each.name for each in references_of(read("TCPRoute", "t", rules=[{"backendRefs": [{"name": "a"}]}]))] == [
        "a"
    ]
    assert referrer_of(route) == Referrer("HTTPRoute", "infra")


def test_a_parent_is_named_with_its_namespace() -> None:
    assert owner_named(ParentReference("gw"), "infra") == OWNER
    assert owner_named(ParentReference("s", kind="ListenerSet", namespace="x"), "infra") == ListenerOwner(
        "ListenerSet", "x", "s"
    )
    assert owner_named(ParentReference("s", kind="Service", group=""), "infra") is None


def test_default_gateways_are_parents_of_routes_that_use_them() -> None:
    known = inventory(service("web", namespace="infra"))
    for said, expected in (("All", ["gw"]), ("None", []), ("", [])):
        route = http_route(parentRefs=[], useDefaultGateways=said)
        found = read_route(route, around(known, ("infra", "gw")), known)
        assert [each.reference.name for each in found.parents] == expected
    both = http_route(useDefaultGateways="All")
    found = read_route(both, around(known, ("infra", "gw")), known)
    assert len(found.parents) == 1
