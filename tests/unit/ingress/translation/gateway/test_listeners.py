"""One listener by itself: what it takes, and why it is refused."""

from __future__ import annotations

from typing import Any

import pytest

from balancer.matching.routing import compile_routes
from ingress.settings.context import TranslationContext
from ingress.translation.assembly import translate
from ingress.translation.gateway.listeners import ListenerOwner, by_owner, listeners_of
from tests.unit.ingress.cluster import inventory
from tests.unit.ingress.translation.gateway.objects import (
    OWNER,
    PORTS,
    gateway,
    gateway_class,
    http_route,
    listener,
    read_one,
)

CERTIFICATE = {"certificateRefs": [{"name": "cert"}]}


def test_a_listener_takes_the_routes_of_its_protocol() -> None:
    assert read_one().kinds == ("HTTPRoute", "GRPCRoute")
    assert read_one(protocol="TCP", port=9000).kinds == ("TCPRoute",)
    assert read_one(protocol="TLS", tls={"mode": "Passthrough"}).kinds == ("TLSRoute",)
    assert read_one(protocol="TLS", tls={"mode": "Terminate"}).kinds == ("TLSRoute", "TCPRoute")
    assert read_one(allowedRoutes={"kinds": [{"kind": "GRPCRoute"}]}).kinds == ("GRPCRoute",)
    named = {"kinds": [{"kind": "GRPCRoute"}, {"kind": "HTTPRoute"}, {"kind": "GRPCRoute"}]}
    assert read_one(allowedRoutes=named).kinds == ("GRPCRoute", "HTTPRoute")


@pytest.mark.parametrize(
    "kinds",
    [[{"kind": "TCPRoute"}, {"kind": "HTTPRoute"}], [{"kind": "HTTPRoute", "group": "x"}, {"kind": "HTTPRoute"}]],
)
def test_a_foreign_kind_is_a_problem_and_the_rest_is_taken(kinds: list[dict[str, str]]) -> None:
    found = read_one(allowedRoutes={"kinds": kinds})
    assert found.kinds == ("HTTPRoute",)
    assert found.unresolved is not None
    assert found.unresolved.reason == "InvalidRouteKinds"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"protocol": "UDP"}, "UnsupportedProtocol"),
        ({"port": 81}, "PortUnavailable"),
        ({"protocol": "HTTPS"}, "UnsupportedValue"),
        ({"protocol": "HTTPS", "tls": {"mode": "Passthrough"}}, "UnsupportedValue"),
        ({"protocol": "TLS", "tls": {"mode": "Odd"}}, "UnsupportedValue"),
        ({"protocol": "HTTPS", "tls": {**CERTIFICATE, "options": {"x": "y"}}}, "UnsupportedValue"),
    ],
)
def test_why_it_is_refused(said: dict[str, Any], reason: str) -> None:
    refused = read_one(**said).refused
    assert refused is not None
    assert refused.reason == reason


def test_what_is_not_refused() -> None:
    assert read_one(protocol="HTTPS", tls=CERTIFICATE).refused is None
    assert read_one(protocol="TLS", port=443, tls={"mode": "Passthrough"}).refused is None


@pytest.mark.parametrize(
    ("said", "protocol", "kind"),
    [
        ({"protocol": "http"}, "HTTP", "HTTPRoute"),
        ({"protocol": "hTtPs", "tls": CERTIFICATE}, "HTTPS", "HTTPRoute"),
        ({"protocol": "tls", "tls": {"mode": "Passthrough"}}, "TLS", "TLSRoute"),
        ({"protocol": "Tcp", "port": 9000}, "TCP", "TCPRoute"),
    ],
)
def test_letter_case_of_a_protocol_says_nothing(said: dict[str, Any], protocol: str, kind: str) -> None:
    found = read_one(**said)
    assert (found.spec.protocol, found.refused, found.kinds[0]) == (protocol, None, kind)


def test_statuses_name_no_objects_of_other_namespaces() -> None:
    own = read_one()
    near, far = (read_one(ListenerOwner("ListenerSet", each, "extra")) for each in ("infra", "shop"))
    assert own.place_told_to(near) == own.place == "listener http of Gateway infra/gw"
    assert own.place_told_to(far) == "a listener of its Gateway"
    assert far.place_told_to(own) == far.place_told_to(near) == "a listener of another namespace"


def test_listeners_keep_the_order_of_their_owner() -> None:
    found = listeners_of(gateway(listener("b"), listener("a", 8080)), ("infra", "gw"), PORTS)
    assert [each.spec.name for each in by_owner(found)[OWNER]] == ["b", "a"]
    assert found[0].key == "Gateway/infra/gw/b"
    assert found[0].place == "listener b of Gateway infra/gw"
    assert not found[0].ends_tls
    assert read_one(protocol="HTTPS", tls=CERTIFICATE).ends_tls


def test_of_listeners_with_one_name_the_first_is_served() -> None:
    """The API server refuses the second one, but a folder may hold it."""
    item = gateway(listener("a"), listener("a", hostname="a.test"), listener("b", hostname="b.test"))
    found = listeners_of(item, ("infra", "gw"), PORTS)
    assert [each.refused and each.refused.reason for each in found] == [None, "UnsupportedValue", None]
    known = inventory(gateway_class(), item, http_route(hostnames=["x.test"]))
    model = translate(known, TranslationContext(gateway_ports=((80, "80"),))).model
    assert compile_routes(model, configuration="gateway:80").match(b"x.test", b"/") is not None
