"""`off`: zones do not count, whatever the facts are."""

from __future__ import annotations

import pytest

from balancer.model import ZONES_OFF, Zone
from balancer.zones import off
from balancer.zones.reasons import Reason
from balancer.zones.verdicts import Verdict
from tests import builders as build


@pytest.mark.parametrize("own_zone", [None, Zone("zone-a"), Zone("zone-z")])
def test_every_endpoint_serves(own_zone: Zone | None) -> None:
    assert off.judge(build.endpoints("aab-"), own_zone, ZONES_OFF) == Verdict(None, Reason.OFF)
