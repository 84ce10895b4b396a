"""Certificates of clients hold for whole hosts: every path, the default and the aliases, whoever claims them."""

from __future__ import annotations

from balancer.model.client_tls import ClientCertificates, ClientDemand, ClientVerification
from balancer.model.gates import SourceRanges
from balancer.model.publication import RoutingModel
from balancer.model.route_configurations import RouteConfiguration
from balancer.model.routes import Host, Owner, Route
from ingress.findings import Findings
from ingress.translation.claims import Claims, ClientTlsClaim
from ingress.translation.conflicts import SettledHost
from ingress.translation.ingress.hosts.host_protection import protect_hosts, with_protection
from tests import builders as build

RULE = ClientCertificates(ClientDemand("", "shop/clients", "digest"))
OTHER = ClientCertificates(ClientDemand("", "shop/others", "digest"))


def claims(name: str, rule: ClientCertificates | None, *hosts: str) -> Claims:
    return Claims(Owner("Ingress", "shop", name), hosts=hosts, client_tls=ClientTlsClaim(rule))


def settled(*claimed: Claims) -> tuple[dict[str, SettledHost], Findings]:
    hosts = {name: SettledHost(has_tls=True) for each in claimed for name in each.hosts}
    findings = Findings()
    protect_hosts(hosts, claimed, findings)
    return hosts, findings


def rules_of(route: Route | None) -> list[ClientCertificates]:
    return [rule for rule in route.gates if isinstance(rule, ClientCertificates)] if route is not None else []


def protected(*hosts: Host, rule: ClientCertificates | None = RULE, default: Route | None = None) -> RoutingModel:
    found, _ = settled(claims("web", rule, *(host.name for host in hosts)))
    model = RoutingModel(hosts=hosts, route_configurations=(RouteConfiguration(default_route=default),))
    return with_protection(model, found, plain_paths=("/.well-known/",))


def test_the_oldest_decides_and_the_others_hear_it() -> None:
    hosts, findings = settled(claims("old", RULE, "a.test"), claims("new", OTHER, "a.test", "b.test"))
    assert hosts["a.test"].client_certificates == RULE
    assert hosts["b.test"].client_certificates == OTHER
    assert [(finding.name, finding.reason) for finding in findings.frozen()] == [("new", "Conflict")]


def test_one_that_cannot_be_read_closes_the_host_whoever_is_older() -> None:
    for order in ((RULE, None), (None, RULE)):
        hosts, _ = settled(*(claims(str(number), rule, "a.test") for number, rule in enumerate(order)))
        assert hosts["a.test"].is_denied


def test_every_route_and_the_default_have_the_gate_with_the_name_of_the_host() -> None:
    ranges = SourceRanges(("10.0.0.0/8",))
    host = build.host("a.test", build.route("/a"), build.route("/b"), default=build.route())
    (made,) = protected(host).hosts
    demand = ClientDemand("a.test", "shop/clients", "digest")
    assert made.client_demand == demand
    for route in (*made.routes, made.default):
        assert [rule.demand for rule in rules_of(route)] == [demand]
    assert ranges not in made.routes[0].gates


def test_the_default_backend_of_a_host_is_protected_too() -> None:
    default = build.route()
    model = protected(build.host("a.test", build.route("/a")), default=default)
    assert len(rules_of(model.hosts[0].default)) == 1
    assert model.configuration().default_route == default


def test_challenges_are_served_over_plain_http() -> None:
    host = build.host("a.test", build.route("/.well-known/acme-challenge/x"), build.route("/a"))
    (made,) = protected(host).hosts
    assert [rules_of(route)[0].serves_plain for route in made.routes] == [True, False]


def test_a_closed_host_answers_nothing() -> None:
    (made,) = protected(build.host("a.test", build.route("/a")), rule=None).hosts
    assert made.default is not None
    assert {route.closed for route in (*made.routes, made.default)} == {True}
    assert made.client_demand is None


def test_where_it_is_off_no_handshake_asks() -> None:
    off = ClientCertificates(ClientDemand("", "shop/clients", "digest", ClientVerification.OFF))
    (made,) = protected(build.host("a.test", build.route("/a")), rule=off).hosts
    assert made.client_demand is None
    assert len(rules_of(made.routes[0])) == 1


def test_an_alias_is_protected_as_the_host_and_under_its_own_name() -> None:
    hosts, _ = settled(claims("web", RULE, "a.test"))
    hosts["alias.test"] = SettledHost(has_tls=True, alias_of="a.test")
    model = RoutingModel(hosts=(build.host("a.test", build.route()), build.host("alias.test", build.route())))
    made = with_protection(model, hosts, plain_paths=())
    assert [host.client_demand.host for host in made.hosts if host.client_demand] == ["a.test", "alias.test"]


def test_without_demands_the_model_is_the_same() -> None:
    model = RoutingModel(hosts=(build.host("a.test", build.route()),))
    assert with_protection(model, {"a.test": SettledHost(has_tls=True)}, plain_paths=()) is model
