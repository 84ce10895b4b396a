"""Whose policy holds for a backend and its routes, and which labels that takes."""

from __future__ import annotations

from balancer.model import ZONES_OFF, BackendKey, ZonePolicy, ZonePolicyName
from ingress.settings import ClusterSettings
from ingress.translation.backend_zones import BackendZones
from ingress.zone_settings import ZoneSettings
from ingress.zone_values import PolicyChoice
from tests.unit.ingress.cluster import service

CART, PAY = BackendKey("shop/cart:80"), BackendKey("shop/pay:80")
AUTO = PolicyChoice()
OFF = PolicyChoice(ZonePolicyName.OFF)
PREFER = PolicyChoice(ZonePolicyName.PREFER_ZONE)
HINTS = PolicyChoice(ZonePolicyName.HINTS)


def ordered(*keys: str) -> PolicyChoice:
    return PolicyChoice(ZonePolicyName.ORDERED, keys)


def on(choice: PolicyChoice = AUTO) -> BackendZones:
    return BackendZones(ClusterSettings(zone_aware_routing=True, zones=ZoneSettings(choice)))


def test_while_the_flag_is_off_nothing_else_counts() -> None:
    zones = BackendZones(ClusterSettings(zones=ZoneSettings(ordered("rack"))))
    said = {"choice": PREFER, "min_endpoints": 3}
    assert zones.backend_policy(CART, service(distribution="PreferClose"), said) == ZONES_OFF
    assert zones.route_policy(CART, said) is None
    assert (zones.policy_names, zones.every_label_key, zones.label_keys(CART)) == (
        frozenset(),
        frozenset(),
        frozenset(),
    )


def test_the_service_overrides_the_configmap_field_by_field() -> None:
    zones = on()
    assert zones.backend_policy(CART, service(), {}) == ZonePolicy(ZonePolicyName.PREFER_ZONE)
    assert zones.backend_policy(CART, service(), {"min_endpoints": 3}) == ZonePolicy(
        ZonePolicyName.PREFER_ZONE, min_endpoints=3
    )
    assert zones.backend_policy(CART, service(), {"choice": OFF}).name is ZonePolicyName.OFF


def test_auto_is_decided_for_each_service_and_only_where_it_is_said() -> None:
    asks = service(distribution="PreferClose")
    assert on().backend_policy(CART, asks, {}).name is ZonePolicyName.HINTS
    assert on().backend_policy(CART, service(), {}).name is ZonePolicyName.PREFER_ZONE
    assert on(PREFER).backend_policy(CART, asks, {}).name is ZonePolicyName.PREFER_ZONE
    assert on(PREFER).backend_policy(CART, asks, {"choice": AUTO}).name is ZonePolicyName.HINTS


def test_the_ingress_overrides_the_service() -> None:
    zones = on()
    zones.backend_policy(CART, service(distribution="PreferClose"), {"choice": OFF, "min_percent": 10})
    assert zones.route_policy(CART, {"choice": PREFER}) == ZonePolicy(ZonePolicyName.PREFER_ZONE, min_percent=10)
    assert zones.route_policy(CART, {"choice": AUTO}) == ZonePolicy(ZonePolicyName.HINTS, min_percent=10)


def test_an_override_that_changes_nothing_is_none() -> None:
    zones = on()
    zones.backend_policy(CART, service(), {})
    assert zones.route_policy(CART, {}) is None
    assert zones.route_policy(CART, {"choice": PREFER}) is None


def test_labels_are_those_that_policies_of_the_backend_and_its_routes_name() -> None:
    zones = on()
    zones.backend_policy(CART, service(), {"choice": ordered("rack", "*")})
    zones.backend_policy(PAY, service("pay"), {})
    zones.route_policy(PAY, {"choice": ordered("row")})
    zones.route_policy(PAY, {"choice": HINTS})
    assert [zones.label_keys(key) for key in (CART, PAY)] == [{"rack"}, {"row"}]
    assert zones.every_label_key == {"rack", "row"}
    names = ZonePolicyName.ORDERED, ZonePolicyName.PREFER_ZONE, ZonePolicyName.HINTS
    assert zones.policy_names == set(names)
