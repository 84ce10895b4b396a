"""Zone policies count only where somebody states one."""

from __future__ import annotations

from balancer.model.zones import ZONES_OFF, ZonePolicyName
from tests import builders as build


def test_zones_count_only_where_somebody_says_so() -> None:
    assert ZONES_OFF.name is ZonePolicyName.OFF
    assert build.backend().zone_policy == ZONES_OFF
