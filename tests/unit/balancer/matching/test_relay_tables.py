"""Which relay route a name leads to: exact before wildcard, within the most specific listener, hosts beside them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.matching.relay_tables import NO_RELAYS, UNROUTED, Relayed, RelayTable, relay_tables
from balancer.model.publication import RoutingModel
from balancer.model.relays import RelayRoute
from balancer.model.route_configurations import Listener, RouteConfiguration, Wildcards
from balancer.model.routes import Branch, Host, Owner, ServiceName

OWNER = Owner("TLSRoute", "shop", "tls")


def route(name: str, listener: str = "pass", **other: bool) -> RelayRoute:
    branches = (Branch(None, OWNER, ServiceName("shop", "db")),)
    return RelayRoute(name, OWNER, branches, configuration="c", listener=listener, **other)


def table(*relays: RelayRoute, hostnames: dict[str, str], hosts: tuple[Host, ...] = ()) -> RelayTable:
    """`hostnames` are those of the listeners for streams, by key; `web` speaks HTTP."""
    model = RoutingModel(
        route_configurations=(RouteConfiguration("c", wildcards=Wildcards.MANY_LABELS),),
        listeners=tuple(
            Listener(key, "c", hostname, only_relays=key != "web") for key, hostname in sorted(hostnames.items())
        ),
        relays=tuple(sorted(relays, key=lambda each: (each.listener, each.name))),
        hosts=hosts,
    )
    return relay_tables(model).tables["c"]


def named(found: object) -> str:
    return found.route.name if isinstance(found, Relayed) else "refused" if found is UNROUTED else "http"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("a.test", "a.test"),
        ("A.TEST.", "a.test"),
        ("b.test", "*.test"),
        ("c.b.test", "*.b.test"),
        ("d.c.b.test", "*.b.test"),
        ("test", "refused"),
        ("a.example", "refused"),
        ("", "refused"),
        (None, "refused"),
        ("a b.test", "refused"),
    ],
)
def test_the_most_specific_name_counts(name: str | None, found: str) -> None:
    routes = table(route("*.test"), route("a.test"), route("*.b.test"), hostnames={"pass": ""})
    assert named(routes.find(name)) == found
    assert named(routes.find(name)) == found  # also when it is remembered


def test_a_route_without_a_name_takes_who_names_nobody() -> None:
    routes = table(route(""), hostnames={"pass": ""})
    assert [named(routes.find(each)) for each in (None, "", "any.test")] == ["", "", ""]


def test_listeners_of_one_port_do_not_lend_their_routes() -> None:
    routes = table(
        route("*.test"), route("x.wide.test", "narrow"), hostnames={"pass": "*.test", "narrow": "*.wide.test"}
    )
    assert named(routes.find("x.wide.test")) == "x.wide.test"
    assert named(routes.find("y.wide.test")) == "refused"
    assert named(routes.find("y.test")) == "*.test"


def test_http_is_spoken_at_listeners_for_that() -> None:
    hosts = (Host("x.shop.test", configuration="c", listener="web"),)
    routes = table(route("y.shop.test"), hostnames={"pass": "y.shop.test", "web": "x.shop.test"}, hosts=hosts)
    assert named(routes.find("y.shop.test")) == "y.shop.test"
    assert named(routes.find("x.shop.test")) == "http"
    assert named(routes.find("z.shop.test")) == "http"  # which has a refusal of its own


def test_a_host_is_more_specific_than_a_wildcard_beside_it() -> None:
    hosts = (Host("a.test", configuration="c", listener="web"),)
    routes = table(route("*.test", "web"), hostnames={"web": ""}, hosts=hosts)
    assert [named(routes.find(each)) for each in ("a.test", "b.test", "c")] == ["http", "*.test", "http"]


def test_without_relays_nothing_is_compiled() -> None:
    assert relay_tables(RoutingModel()) is NO_RELAYS


@given(st.lists(st.integers(0, 5), min_size=1, max_size=5).filter(any), st.data())
def test_shares_are_those_of_the_weights(weights: list[int], data: st.DataObject) -> None:
    branches = tuple(Branch(None, OWNER, ServiceName("shop", str(n)), weight) for n, weight in enumerate(weights))
    relayed = Relayed(RelayRoute("", OWNER, branches))
    total = sum(weights)
    lots = [relayed.choose(lambda below, lot=lot: lot % below).branch.service.name for lot in range(total)]  # type: ignore[misc]
    if len(weights) > 1:
        assert [lots.count(str(number)) for number in range(len(weights))] == weights


def test_references_to_other_namespaces_are_known_while_they_can_be_followed() -> None:
    from balancer.model.endpoints import BackendKey

    guest = Owner("TCPRoute", "guest", "r")
    allowed = Branch(BackendKey("shop/db:1"), guest, ServiceName("shop", "db"))
    refused = Branch(None, guest, ServiceName("shop", "other"))
    own = Branch(BackendKey("guest/db:1"), guest, ServiceName("guest", "db"))
    model = RoutingModel(relays=(RelayRoute("", guest, (allowed, refused, own)),))
    assert relay_tables(model).carried == {("TCPRoute", "guest/r", "shop/db")}
