"""Zone policies count only where somebody states one."""

from __future__ import annotations

import pytest

from balancer.model.zones import ZONES_OFF, ZoneEvacuation, ZonePolicy, ZonePolicyName
from tests import builders as build


@pytest.mark.parametrize("name", ZonePolicyName)
def test_sick_zones_are_left_by_default_where_load_or_the_own_zone_chooses(name: ZonePolicyName) -> None:
    by_itself = ZonePolicy(name).evacuation
    leaves = name in (ZonePolicyName.ADAPTIVE, ZonePolicyName.PREFER_ZONE)
    assert by_itself is (ZoneEvacuation.ON if leaves else ZoneEvacuation.OFF)
    for asked in ZoneEvacuation:
        expected = ZoneEvacuation.OFF if name is ZonePolicyName.OFF else asked
        assert ZonePolicy(name, asked_evacuation=asked).evacuation is expected


def test_zones_count_only_where_somebody_says_so() -> None:
    assert ZONES_OFF.name is ZonePolicyName.OFF
    assert build.backend().zone_policy == ZONES_OFF
