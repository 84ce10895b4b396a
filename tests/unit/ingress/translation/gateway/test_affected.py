"""Gateways and routes say which policies are attached to them."""

from __future__ import annotations

from ingress.translation.gateway.affected import AFFECTED
from ingress.translation.gateway.standings import GatewayStatus, RouteStatus
from tests.unit.ingress.translation.gateway.test_zone_policies import read_with, zone_policy


def test_what_a_policy_is_attached_to_says_so() -> None:
    found = read_with(zone_policy("HTTPRoute", "route", defaults={"policy": "hints"}))
    status = next(each.status for each in found.standings if each.kind == "HTTPRoute")
    assert isinstance(status, RouteStatus)
    assert AFFECTED in [each.type for each in status.parents[0].conditions]
    found = read_with(zone_policy("Gateway", "gw", defaults={"policy": "hints"}))
    owner = next(each.status for each in found.standings if each.kind == "Gateway")
    assert isinstance(owner, GatewayStatus)
    assert AFFECTED in [each.type for each in owner.conditions]
