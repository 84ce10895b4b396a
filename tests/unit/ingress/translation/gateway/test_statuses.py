"""Standings of Gateways, ListenerSets and routes."""

from __future__ import annotations

from ingress.objects.kinds import ServicePort
from tests.unit.ingress.cluster import service
from tests.unit.ingress.translation.gateway.objects import (
    conditions,
    gateway,
    http_route,
    listener,
    listener_set,
    read,
    read_all,
)

ODD = listener("odd", 9000, "UDP")


def test_a_gateway_with_one_bad_listener_is_accepted_and_says_so() -> None:
    assert conditions(read_all(gateway(listener(), ODD)), "Gateway", "gw")["Accepted"] == ("True", "ListenersNotValid")
    none_left = conditions(read_all(gateway(ODD)), "Gateway", "gw")
    assert none_left == {
        "Accepted": ("False", "ListenersNotValid"),
        "Programmed": ("False", "Invalid"),
        "ResolvedRefs": ("True", "ResolvedRefs"),
    }


def test_a_gateway_sums_up_the_references_of_its_listeners() -> None:
    odd = listener("odd", 8080, allowedRoutes={"kinds": [{"kind": "Odd"}]})
    found = read_all(gateway(listener(), odd))
    assert conditions(found, "Gateway", "gw")["ResolvedRefs"] == ("False", "ListenersNotResolved")
    found = read_all(gateway(listener(), odd, tls={"backend": {"clientCertificateRef": {"name": "none"}}}))
    assert conditions(found, "Gateway", "gw")["ResolvedRefs"] == ("False", "InvalidClientCertificateRef")


def test_a_udp_route_is_taken_by_no_listener() -> None:
    rules = [{"backendRefs": [{"name": "web", "port": 53}]}]
    route = read("UDPRoute", "route", parentRefs=[{"name": "gw"}], rules=rules)
    found = read_all(gateway(listener(), ODD), route, service("web", ServicePort(53, "dns", "UDP"), namespace="infra"))
    assert conditions(found, "UDPRoute", "route") == {
        "Accepted": ("False", "NotAllowedByListeners"),
        "ResolvedRefs": ("True", "ResolvedRefs"),
    }
    assert [each.ports for each in found.routes] == [frozenset()]


def test_accepted_routes_are_counted_on_each_listener() -> None:
    found = read_all(gateway(listener(), listener("more", 8080)), http_route(), service("web", namespace="infra"))
    status = next(each.status for each in found.standings if each.kind == "Gateway")
    assert [each.attached_routes for each in status.listeners] == [1, 1]  # type: ignore[union-attr]


def test_a_route_that_is_not_accepted_has_its_references_judged() -> None:
    found = conditions(read_all(gateway(), http_route(namespace="shop")), "HTTPRoute", "route")
    assert found == {"Accepted": ("False", "NotAllowedByListeners"), "ResolvedRefs": ("False", "BackendNotFound")}


def test_rules_that_are_dropped_are_told_unless_none_is_left() -> None:
    bad = {"matches": [{"method": "BREW"}]}
    found = conditions(read_all(gateway(), http_route(rules=[bad, {}])), "HTTPRoute", "route")
    assert found["PartiallyInvalid"] == ("True", "UnsupportedValue")
    found = conditions(read_all(gateway(), http_route(rules=[bad])), "HTTPRoute", "route")
    assert "PartiallyInvalid" not in found
    assert found["Accepted"] == ("False", "UnsupportedValue")


def test_a_set_that_is_not_allowed_has_no_listeners() -> None:
    found = read_all(gateway(), listener_set(listener("x", 8080), namespace="shop"))
    assert conditions(found, "ListenerSet", "extra") == {
        "Accepted": ("False", "NotAllowed"),
        "Programmed": ("False", "NotAllowed"),
    }


def test_a_set_with_one_bad_listener_is_accepted_and_says_so() -> None:
    parent = gateway(allowedListeners={"namespaces": {"from": "All"}})
    found = read_all(parent, listener_set(listener("x", 8080), ODD))
    assert conditions(found, "ListenerSet", "extra") == {
        "Accepted": ("True", "ListenersNotValid"),
        "Programmed": ("True", "Programmed"),
    }


def test_clients_without_a_certificate_are_told() -> None:
    reference = {"group": "", "kind": "ConfigMap", "name": "ca"}
    validation = {"caCertificateRefs": [reference], "mode": "AllowInsecureFallback"}
    frontend = {"default": {"validation": validation}}
    found = conditions(read_all(gateway(tls={"frontend": frontend})), "Gateway", "gw")
    assert found["InsecureFrontendValidationMode"] == ("True", "ConfigurationChanged")
