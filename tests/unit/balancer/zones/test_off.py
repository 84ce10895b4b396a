"""`off`: zones do not count, whatever the facts are."""

from __future__ import annotations

import pytest

from balancer.model.zones import ZONES_OFF
from balancer.zones import off
from balancer.zones.reasons import Reason
from balancer.zones.verdicts import Verdict
from tests import builders as build
from tests.unit.balancer.zones.surroundings import around


@pytest.mark.parametrize("own_zone", [None, "zone-a", "zone-z"])
def test_every_endpoint_serves(own_zone: str | None) -> None:
    assert off.judge(build.endpoints("aab-"), around(own_zone), ZONES_OFF) == Verdict(None, Reason.OFF)
