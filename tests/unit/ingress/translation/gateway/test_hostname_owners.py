"""One namespace owns a hostname of a listener, if the operator says so."""

from __future__ import annotations

from typing import Any

import pytest

from ingress.objects.gateway import Gateway
from ingress.objects.kinds import KubernetesObject
from ingress.translation.gateway.material import GatewayMaterial
from ingress.translation.gateway.reading import GatewayOptions, ReadGateways, read_gateways
from ingress.translation.secrets.materials import Materials
from tests.unit.ingress.cluster import inventory
from tests.unit.ingress.translation.gateway.objects import (
    CONTROLLER,
    PORTS,
    conditions,
    gateway,
    gateway_class,
    listener_set,
    read,
)
from tests.unit.ingress.translation.gateway.objects import listener as listener_of

TO_ALL = {"namespaces": {"from": "All"}}


PASSES = listener_of("tls", 443, "TLS", tls={"mode": "Passthrough"}, allowedRoutes=TO_ALL)


def read_owned(*objects: KubernetesObject, one: bool = True, owner: Gateway | None = None) -> ReadGateways:
    known = inventory(gateway_class(), owner or gateway(listener_of(allowedRoutes=TO_ALL), PASSES), *objects)
    options = GatewayOptions(CONTROLLER, PORTS, one_namespace_per_hostname=one)
    return read_gateways(known, options, GatewayMaterial(known, Materials()))


def route(name: str, place: str, *hostnames: str, year: int = 2020, kind: str = "HTTPRoute") -> Any:
    parents = [{"name": "gw", "namespace": "infra"}]
    created = f"{year}-01-01T00:00:00Z"
    return read(kind, name, namespace=place, created=created, parentRefs=parents, hostnames=hostnames)


def accepted(found: ReadGateways, name: str, kind: str = "HTTPRoute") -> tuple[str, str]:
    return conditions(found, kind, name)["Accepted"]


@pytest.mark.parametrize("kind", ["HTTPRoute", "GRPCRoute"])
@pytest.mark.parametrize(("first", "second"), [("a.test", "a.test"), ("*.test", "a.test"), ("", "a.test"), ("", "")])
def test_a_younger_route_of_another_namespace_is_not_allowed(kind: str, first: str, second: str) -> None:
    names = [(each,) if each else () for each in (first, second)]
    old, new = route("old", "shop", *names[0]), route("new", "blog", *names[1], year=2021, kind=kind)
    found = read_owned(old, new)
    assert accepted(found, "old") == ("True", "Accepted")
    assert accepted(found, "new", kind) == ("False", "NotAllowedByListeners")
    assert accepted(read_owned(old, new, one=False), "new", kind) == ("True", "Accepted")


@pytest.mark.parametrize(("first", "second"), [("a.test", "a.test"), ("*.test", "a.b.test"), ("*.test", "*.a.test")])
def test_names_of_streams_belong_to_one_namespace_too(first: str, second: str) -> None:
    old = route("old", "shop", first, kind="TLSRoute")
    new = route("new", "blog", second, year=2021, kind="TLSRoute")
    found = read_owned(old, new)
    assert accepted(found, "old", "TLSRoute") == ("True", "Accepted")
    assert accepted(found, "new", "TLSRoute") == ("False", "NotAllowedByListeners")
    assert accepted(read_owned(old, new, one=False), "new", "TLSRoute") == ("True", "Accepted")


def test_a_namespace_may_have_many_routes_and_a_wider_name_takes_nothing_away() -> None:
    found = read_owned(
        route("old", "shop", "a.test"), route("more", "shop", "a.test"), route("wide", "blog", "*.test", year=2021)
    )
    assert {accepted(found, name) for name in ("old", "more", "wide")} == {("True", "Accepted")}


def test_the_names_that_are_left_are_served() -> None:
    found = read_owned(route("old", "shop", "a.test"), route("new", "blog", "a.test", "b.test", year=2021))
    (attached,) = found.routes[1].parents[0].attached
    assert attached.hostnames == ("b.test",)
    assert accepted(found, "new") == ("True", "Accepted")


def test_a_listener_set_closes_no_hostname_of_another_namespace() -> None:
    """Its listener is nearer to the name than the one on which the name was claimed, so it would take the requests."""
    taking = gateway(listener_of(hostname="*.test", allowedRoutes=TO_ALL), allowedListeners=TO_ALL)
    thief = listener_set(listener_of("near", hostname="shop.test"), namespace="evil")
    objects = thief, route("mine", "shop", "shop.test"), route("theirs", "evil", "evil.test", year=2021)
    found = read_owned(*objects, owner=taking)
    assert conditions(found, "ListenerSet", "extra")["Accepted"] == ("False", "ListenersNotValid")
    assert {each.key: each.is_open for each in found.listeners} == {
        "Gateway/infra/gw/http": True, "ListenerSet/evil/extra/near": False
    }  # fmt: skip
    free = read_owned(thief, route("theirs", "evil", "evil.test", year=2021), owner=taking)
    assert all(each.is_open for each in free.listeners)
    unowned = read_owned(*objects, owner=taking, one=False)
    assert all(each.is_open for each in unowned.listeners)


def test_a_listener_with_older_routes_stays_whoever_claims_a_wider_name() -> None:
    taking = gateway(listener_of(hostname="*.test", allowedRoutes=TO_ALL), allowedListeners=TO_ALL)
    extra = listener_set(listener_of("near", hostname="*.shop.test"), namespace="shop")
    parents = [{"kind": "ListenerSet", "name": "extra"}]
    said = {"parentRefs": parents, "hostnames": ["a.shop.test"]}
    mine = read("HTTPRoute", "mine", namespace="shop", created="2020-01-01T00:00:00Z", **said)
    found = read_owned(extra, mine, route("wide", "evil", "*.shop.test", year=2021), owner=taking)
    assert all(each.is_open for each in found.listeners)
    assert accepted(found, "mine") == ("True", "Accepted")


def test_a_gateway_on_a_shared_port_takes_no_hostname_of_another_namespace() -> None:
    """The younger Gateway has a listener that is nearer to the name."""
    theirs = gateway(listener_of("near", hostname="a.test"), name="theirs", namespace="evil")
    parents = [{"name": "theirs"}]
    theft = read("HTTPRoute", "theft", namespace="evil", created="2021-01-01T00:00:00Z", parentRefs=parents)
    found = read_owned(theirs, route("mine", "shop", "a.test"), theft)
    assert accepted(found, "mine") == ("True", "Accepted")
    assert accepted(found, "theft") == ("False", "NotAllowedByListeners")
    assert [each.key for each in found.listeners if not each.is_open] == ["Gateway/evil/theirs/near"]


def test_listeners_of_one_gateway_take_nothing_from_each_other() -> None:
    """Who may have which name on which listener is for the owner of the Gateway to say."""
    both = gateway(listener_of(allowedRoutes=TO_ALL), listener_of("near", hostname="a.test", allowedRoutes=TO_ALL))
    first, second = (
        read("HTTPRoute", name, namespace=name, created=f"{year}-01-01T00:00:00Z", hostnames=["a.test"],
             parentRefs=[{"name": "gw", "namespace": "infra", "sectionName": section}])
        for name, year, section in (("old", 2020, "http"), ("new", 2021, "near"))
    )  # fmt: skip
    found = read_owned(first, second, owner=both)
    assert {accepted(found, name) for name in ("old", "new")} == {("True", "Accepted")}
    assert all(each.is_open for each in found.listeners)
