"""What a handshake for a name gets: of an Ingress by its host, of a listener by its hostname."""

from __future__ import annotations

import msgspec
import pytest

from balancer.matching.server_names import ServerNameTable
from balancer.model.certificates import Certificate
from balancer.model.client_tls import ClientDemand
from balancer.model.publication import RoutingModel
from balancer.model.route_configurations import Listener, RouteConfiguration, Wildcards
from balancer.model.routes import INGRESS, Host
from tests.unit.balancer.matching.test_certificates import certificate


def plain(key: str) -> Certificate:
    return Certificate(key, b"chain", b"key", expires_at_epoch_seconds=0.0)


SHOP, WILD, DEFAULT = plain("shop/shop"), plain("shop/wild"), plain("shop/default")
DEMAND = ClientDemand("", "shop/clients", "digest")
MODEL = RoutingModel(
    hosts=(
        Host(name="", certificate=WILD.key),
        Host(name="*.wild.test", certificate=WILD.key, ciphers="AES"),
        Host(name="missing.test", certificate="shop/missing"),
        Host(name="shop.test", certificate=SHOP.key),
    ),
    certificates=(DEFAULT, SHOP, WILD),
    route_configurations=(RouteConfiguration(default_certificate=DEFAULT.key),),
)


@pytest.mark.parametrize(
    ("name", "host", "expected"),
    [
        ("shop.test", "shop.test", SHOP),
        ("SHOP.test.", "shop.test", SHOP),
        ("a.wild.test", "*.wild.test", WILD),
        ("a.b.wild.test", "", DEFAULT),
        ("missing.test", "missing.test", DEFAULT),
        ("other.test", "", DEFAULT),
        ("", "", DEFAULT),
        (None, "", DEFAULT),
    ],
)
def test_of_ingresses_the_exact_name_comes_before_the_wildcard_and_the_default(
    name: str | None, host: str, expected: Certificate
) -> None:
    found = ServerNameTable(MODEL, INGRESS).find(name)
    assert (found.host, found.certificate) == (host, expected)


def test_without_a_default_no_certificate_fits_other_names() -> None:
    table = ServerNameTable(msgspec.structs.replace(MODEL, route_configurations=()), INGRESS)
    assert table.find("other.test").certificate is None
    assert table.has_fallback and not table.is_divided


def test_ciphers_and_demands_are_those_of_the_host() -> None:
    hosts = (Host("a.test", client_demand=DEMAND, ciphers="AES"), Host("b.test"))
    table = ServerNameTable(RoutingModel(hosts=hosts), INGRESS)
    assert [(each.ciphers, each.demand) for each in map(table.find, ("a.test", "b.test"))] == [
        ("AES", DEMAND),
        ("", None),
    ]
    assert table.demands == {DEMAND: "AES"}
    assert table.ciphers == {"AES"}


def gateway(*listeners: Listener, hosts: tuple[Host, ...] = ()) -> ServerNameTable:
    configuration = RouteConfiguration("web", wildcards=Wildcards.MANY_LABELS, has_fallback=False)
    model = RoutingModel(
        route_configurations=(configuration, RouteConfiguration()),
        listeners=(*listeners, Listener()),
        hosts=(*MODEL.hosts, *hosts),
        certificates=MODEL.certificates,
    )
    return ServerNameTable(model, "web")


def test_of_a_gateway_the_most_specific_listener_has_the_certificate() -> None:
    table = gateway(
        Listener("shop", "web", "a.shop.test", (SHOP.key,), DEMAND),
        Listener("wild", "web", "*.shop.test", (WILD.key,)),
    )
    assert [table.find(name).certificate for name in ("a.shop.test", "b.shop.test", "c.b.shop.test", "shop.test")] == [
        SHOP,
        WILD,
        WILD,
        None,
    ]
    assert table.find("a.shop.test").demand == DEMAND
    assert table.find("b.shop.test").demand is None
    assert table.is_divided
    assert table.certificates == {SHOP, WILD}


def test_a_listener_whose_certificate_is_missing_shows_none_of_another_one() -> None:
    table = gateway(Listener("broken", "web", "a.test", ("shop/missing",)), Listener("all", "web", "", (SHOP.key,)))
    assert table.find("a.test").certificate is None
    assert table.find("b.test").certificate is SHOP


def test_of_several_certificates_of_a_listener_the_first_that_has_the_name_is_shown() -> None:
    first, second = certificate("a/first", "first.test"), certificate("a/second", "*.second.test")
    listener = Listener("all", "web", "", (first.key, second.key))
    model = RoutingModel(
        route_configurations=(RouteConfiguration("web"),), listeners=(listener,), certificates=(first, second)
    )
    table = ServerNameTable(model, "web")
    assert [table.find(name).certificate for name in ("first.test", "x.second.test", "other.test")] == [
        first,
        second,
        first,
    ]


def test_a_certificate_with_the_name_itself_comes_before_one_with_its_wildcard() -> None:
    wide, exact = certificate("a/wide", "*.shop.test"), certificate("a/exact", "www.shop.test")
    listener = Listener("all", "web", "", (wide.key, exact.key))
    model = RoutingModel(
        route_configurations=(RouteConfiguration("web"),), listeners=(listener,), certificates=(wide, exact)
    )
    table = ServerNameTable(model, "web")
    assert [table.find(name).certificate for name in ("www.shop.test", "a.shop.test")] == [exact, wide]


def test_what_is_shown_differs_with_certificates_ciphers_and_listeners_only() -> None:
    listener = Listener("shop", "web", "a.test", (SHOP.key,))
    assert gateway(listener).shown == gateway(listener).shown
    assert gateway(listener).shown != gateway(msgspec.structs.replace(listener, certificates=(WILD.key,))).shown
    asking = msgspec.structs.replace(listener, client_demand=DEMAND)
    assert gateway(listener).shown == gateway(asking).shown
