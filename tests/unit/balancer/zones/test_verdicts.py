"""What every policy in the table promises, whatever it decides by."""

from __future__ import annotations

import pytest
from hypothesis import given

from balancer.model import Endpoint, OwnZone, ZonePolicy, ZonePolicyName
from balancer.zones.reasons import Reason
from balancer.zones.split import JUDGES
from tests.unit.balancer import strategies


def test_every_policy_of_the_model_has_a_judge() -> None:
    assert set(JUDGES) == set(ZonePolicyName)


@pytest.mark.parametrize("name", ZonePolicyName)
@given(ready=strategies.ready_endpoints, own_zone=strategies.own_zones, policy=strategies.policies)
def test_a_zonal_verdict_names_at_least_one_ready_endpoint_and_only_those(
    name: ZonePolicyName, ready: tuple[Endpoint, ...], own_zone: OwnZone, policy: ZonePolicy
) -> None:
    zonal, reason = JUDGES[name](ready, own_zone.zone, policy)
    assert isinstance(reason, Reason)
    assert zonal is None or (zonal and set(zonal) <= set(ready))
