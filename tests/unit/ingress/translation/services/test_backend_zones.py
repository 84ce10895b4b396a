"""Whose policy holds for a backend and its routes, and which labels that takes."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from balancer.model.endpoints import Backend, BackendKey
from balancer.model.zones import ZONES_OFF, ZonePolicy, ZonePolicyName
from ingress.objects.kinds import Service
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.option import Overrides
from ingress.settings.table.zones import ZoneSettings
from ingress.settings.zone_values import PolicyChoice
from ingress.translation.services.backend_zones import BackendZones
from tests.unit.ingress.cluster import service

CART, PAY = BackendKey("shop/cart:80"), BackendKey("shop/pay:80")
AUTO = PolicyChoice()
OFF = PolicyChoice(ZonePolicyName.OFF)
PREFER = PolicyChoice(ZonePolicyName.PREFER_ZONE)
HINTS = PolicyChoice(ZonePolicyName.HINTS)
# What auto is for a Service that does not speak of hints.
UNASKED = ZonePolicy(ZonePolicyName.PREFER_ZONE, heeds_hints=True)


def sets(fields: dict[str, Any]) -> Overrides:
    return Overrides({ZoneSettings: fields})


def ordered(*keys: str) -> PolicyChoice:
    return PolicyChoice(ZonePolicyName.ORDERED, keys)


def on(choice: PolicyChoice = AUTO) -> BackendZones:
    return BackendZones(ClusterSettings(zone_aware_routing=True, zones=ZoneSettings(choice)))


def made(zones: BackendZones, key: BackendKey, item: Service, overrides: Overrides) -> Backend:
    """A backend with the policy that its Service gets."""
    policy = zones.backend_policy(item, overrides)
    zones.note_backend(key, item, overrides, policy)
    return Backend(key, item.metadata.namespace, item.metadata.name, "80", zone_policy=policy)


def test_while_the_flag_is_off_nothing_else_counts() -> None:
    zones = BackendZones(ClusterSettings(zones=ZoneSettings(ordered("rack"))))
    said = sets({"choice": PREFER, "min_endpoints": 3})
    cart = made(zones, CART, service(distribution="PreferClose"), said)
    assert cart.zone_policy == ZONES_OFF
    assert zones.route_policy(cart, said) is None
    assert (zones.policy_names, zones.label_keys(CART)) == (frozenset(), frozenset())


def test_the_service_overrides_the_configmap_field_by_field() -> None:
    zones = on()
    assert zones.backend_policy(service(), Overrides()) == UNASKED
    assert zones.backend_policy(service(), sets({"min_endpoints": 3})) == replace(UNASKED, min_endpoints=3)
    assert zones.backend_policy(service(), sets({"choice": OFF})).name is ZonePolicyName.OFF


def test_auto_is_decided_for_each_service_and_only_where_it_is_said() -> None:
    asks = service(distribution="PreferClose")
    assert on().backend_policy(asks, Overrides()).name is ZonePolicyName.HINTS
    assert on().backend_policy(service(), Overrides()).name is ZonePolicyName.PREFER_ZONE
    assert on(PREFER).backend_policy(asks, Overrides()).name is ZonePolicyName.PREFER_ZONE
    assert on(PREFER).backend_policy(asks, sets({"choice": AUTO})).name is ZonePolicyName.HINTS


def test_the_ingress_overrides_the_service() -> None:
    zones = on()
    cart = made(zones, CART, service(distribution="PreferClose"), sets({"choice": OFF, "min_percent": 10}))
    assert zones.route_policy(cart, sets({"choice": PREFER})) == ZonePolicy(ZonePolicyName.PREFER_ZONE, min_percent=10)
    assert zones.route_policy(cart, sets({"choice": AUTO})) == ZonePolicy(ZonePolicyName.HINTS, min_percent=10)


def test_an_override_that_changes_nothing_is_none() -> None:
    zones = on()
    cart = made(zones, CART, service(), Overrides())
    assert zones.route_policy(cart, Overrides()) is None
    assert zones.route_policy(cart, sets({"choice": AUTO})) is None
    assert zones.route_policy(cart, sets({"choice": PREFER})) == ZonePolicy(ZonePolicyName.PREFER_ZONE)


def test_labels_are_those_that_policies_of_the_backend_and_its_routes_name() -> None:
    zones = on()
    made(zones, CART, service(), sets({"choice": ordered("rack", "*")}))
    pay = made(zones, PAY, service("pay"), Overrides())
    zones.route_policy(pay, sets({"choice": ordered("row")}))
    zones.route_policy(pay, sets({"choice": HINTS}))
    assert [zones.label_keys(key) for key in (CART, PAY)] == [{"rack"}, {"row"}]
    names = ZonePolicyName.ORDERED, ZonePolicyName.PREFER_ZONE, ZonePolicyName.HINTS
    assert zones.policy_names == set(names)


def test_the_policies_of_a_backend_and_its_routes_are_known() -> None:
    zones = on()
    cart = made(zones, CART, service(), Overrides())
    zones.route_policy(cart, sets({"choice": OFF}))
    assert zones.policies(CART) == {UNASKED, ZonePolicy(ZonePolicyName.OFF)}
    assert zones.policies(PAY) == frozenset()


def test_services_that_say_nothing_share_one_policy_and_one_set_of_it() -> None:
    zones = on(PREFER)
    usual, same = (zones.backend_policy(service(name), Overrides()) for name in ("cart", "pay"))
    other = zones.backend_policy(service("stock"), sets({"min_endpoints": 7}))
    assert usual is same and other.min_endpoints == 7
    for key, policy in ((CART, usual), (PAY, same), (BackendKey("shop/stock:80"), other)):
        zones.note(key, policy)
    assert zones.policies(CART) is zones.policies(PAY)
    assert zones.policies(BackendKey("shop/stock:80")) == {other}
    zones.note(PAY, other)
    assert zones.policies(CART) == {usual} and zones.policies(PAY) == {usual, other}
