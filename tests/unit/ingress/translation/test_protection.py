"""What clients must show holds for whole hosts: every path, and the default, whoever claims them."""

from __future__ import annotations

from balancer.model.client_tls import ClientCertificates, ClientDemand, ClientVerification
from balancer.model.gates import SourceRanges
from balancer.model.routes import Host, Route
from ingress.translation.claims import HostClaim
from ingress.translation.protection import protected
from tests import builders as build

RULE = ClientCertificates(ClientDemand("", "shop/clients", "digest"))


def rules_of(route: Route | None) -> list[ClientCertificates]:
    return [rule for rule in route.gates if isinstance(rule, ClientCertificates)] if route is not None else []


def made_of(host: Host, rule: ClientCertificates | None = RULE, *, default: Route | None = None) -> Host:
    claimed = HostClaim(host.name, client_certificates=rule, is_denied=rule is None)
    return protected(host, claimed, default, plain_paths=("/.well-known/",))


def test_every_route_and_the_default_have_the_gate_with_the_name_of_the_host() -> None:
    ranges = SourceRanges(("10.0.0.0/8",))
    made = made_of(build.host("a.test", build.route("/a"), build.route("/b"), default=build.route()))
    demand = ClientDemand("a.test", "shop/clients", "digest")
    assert made.client_demand == demand
    for route in (*made.routes, made.default):
        assert [rule.demand for rule in rules_of(route)] == [demand]
    assert ranges not in made.routes[0].gates


def test_the_default_route_is_protected_too() -> None:
    made = made_of(build.host("a.test", build.route("/a")), default=build.route())
    assert len(rules_of(made.default)) == 1


def test_challenges_are_served_over_plain_http() -> None:
    made = made_of(build.host("a.test", build.route("/.well-known/acme-challenge/x"), build.route("/a")))
    assert [rules_of(route)[0].serves_plain for route in made.routes] == [True, False]


def test_a_closed_host_answers_nothing() -> None:
    made = made_of(build.host("a.test", build.route("/a")), None)
    assert made.default is not None
    assert {route.closed for route in (*made.routes, made.default)} == {True}
    assert made.client_demand is None


def test_where_it_is_off_no_handshake_asks() -> None:
    off = ClientCertificates(ClientDemand("", "shop/clients", "digest", ClientVerification.OFF))
    made = made_of(build.host("a.test", build.route("/a")), off)
    assert made.client_demand is None
    assert len(rules_of(made.routes[0])) == 1


def test_without_a_demand_the_host_is_the_same() -> None:
    host = build.host("a.test", build.route())
    assert protected(host, HostClaim("a.test"), None, plain_paths=()) is host
