"""Gateways and ListenerSets as they are read: who comes first, who is not taken, and which listeners there are."""

from __future__ import annotations

from ingress.objects.kinds import KubernetesObject
from ingress.sources.events import Provisioned
from ingress.translation.gateway.material import GatewayMaterial
from ingress.translation.gateway.owner_reading import ReadOwners, read_owners
from ingress.translation.secrets.materials import Materials
from tests.unit.ingress.cluster import inventory
from tests.unit.ingress.translation.gateway.objects import (
    gateway,
    gateway_class,
    listener,
    listener_set,
    namespace,
    read,
)

ALL = {"namespaces": {"from": "All"}}
OF_TEAM = {"namespaces": {"from": "Selector", "selector": {"matchLabels": {"team": "a"}}}}


def owners(*objects: KubernetesObject) -> ReadOwners:
    known, ours = inventory(*objects), gateway_class()
    material = GatewayMaterial(known, Materials())
    return read_owners(
        known, material, {"zonal": ours}, ports=frozenset((80, 8080)), services=None, provisioned=Provisioned()
    )


def keys(found: ReadOwners) -> list[str]:
    return [each.key for each in found.listeners if each.is_open]


def test_the_oldest_gateway_comes_first_and_those_of_others_are_left_out() -> None:
    young = read("Gateway", "a", created="2026-01-02T00:00:00Z", gatewayClassName="zonal", listeners=[listener()])
    old = read("Gateway", "b", created="2026-01-01T00:00:00Z", gatewayClassName="zonal", listeners=[listener()])
    theirs = read("Gateway", "c", gatewayClassName="theirs", listeners=[listener()])
    found = owners(young, theirs, old)
    assert list(found.gateways) == [("infra", "b"), ("infra", "a")]
    assert keys(found) == ["Gateway/infra/b/http"]  # both want the same port


def test_listeners_of_a_set_come_after_those_of_its_gateway() -> None:
    extra = listener_set(listener("extra", 8080, hostname="extra.test"), namespace="shop")
    found = owners(gateway(allowedListeners=ALL), extra)
    assert keys(found) == ["Gateway/infra/gw/http", "ListenerSet/shop/extra/extra"]
    assert found.sets["shop", "extra"] == (extra, ("infra", "gw"), None)


def test_a_set_that_its_gateway_does_not_take_says_why_and_has_no_listeners() -> None:
    extra = listener_set(listener("extra", 8080), namespace="shop")
    refused = owners(gateway(allowedListeners=OF_TEAM), extra)
    _, _, refusal = refused.sets["shop", "extra"]
    assert refusal is not None and {each.reason for each in refusal} == {"NotAllowed"}
    assert keys(refused) == ["Gateway/infra/gw/http"]
    taken = owners(gateway(allowedListeners=OF_TEAM), extra, namespace("shop", team="a"))
    assert keys(taken) == ["Gateway/infra/gw/http", "ListenerSet/shop/extra/extra"]


def test_a_gateway_that_is_refused_serves_nothing_and_takes_no_set() -> None:
    asks = gateway(addresses=[{"type": "Odd", "value": "x"}], allowedListeners=ALL)
    found = owners(asks, listener_set(listener("extra", 8080)))
    assert found.refused["infra", "gw"].reason == "UnsupportedAddress"
    assert [each.serves for each in found.listeners] == [False]
    _, _, refusal = found.sets["infra", "extra"]
    assert refusal is not None
    assert [each.reason for each in refusal] == ["ParentNotAccepted", "ParentNotProgrammed"]
