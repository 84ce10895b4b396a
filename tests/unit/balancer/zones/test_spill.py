"""Health changes pools after the policy has spoken: stay, leave the zone, or ignore health, but never serve nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model import ZONES_OFF, Endpoint, OwnZone, ZonePolicy
from balancer.zones.reasons import Reason
from balancer.zones.spill import by_health
from balancer.zones.split import Pools, split
from tests import builders as build
from tests.unit.balancer import strategies


def judged(zones: str, unwell: str, *, panic_percent: int = 50, policy: ZonePolicy = build.PREFER_ZONE) -> Pools:
    """`zones` as in `builders.endpoints`; `unwell` holds the last digits of addresses."""
    pools = split(build.endpoints(zones), Surroundings(own=build.own_zone("zone-a")), policy)
    return by_health(pools, is_well=lambda endpoint: endpoint.address[-1] not in unwell, panic_percent=panic_percent)


def numbers(endpoints: tuple[Endpoint, ...]) -> str:
    return "".join(endpoint.address[-1] for endpoint in endpoints)


@pytest.mark.parametrize(
    ("zones", "unwell", "mode", "serving", "reason"),
    [
        pytest.param("aabb", "", "zonal", "12", Reason.ZONE_LOCAL, id="all well"),
        pytest.param("aabb", "1", "zonal", "2", Reason.ZONE_LOCAL, id="half of the zone well"),
        pytest.param("aaabb", "12", "general", "345", Reason.SPILL_HEALTH, id="less than half of the zone well"),
        pytest.param("abb", "1", "general", "23", Reason.SPILL_HEALTH, id="nothing of the zone well"),
        pytest.param("aabb", "123", "general", "1234", Reason.PANIC, id="less than half of all well"),
        pytest.param("aabb", "1234", "general", "1234", Reason.PANIC, id="nothing well"),
        pytest.param("bbb", "1", "general", "23", Reason.ZONE_EMPTY, id="general mode keeps its reason"),
        pytest.param("bbb", "12", "general", "123", Reason.PANIC, id="general mode panics likewise"),
    ],
)
def test_enough_that_is_well_serves(zones: str, unwell: str, mode: str, serving: str, reason: Reason) -> None:
    pools = judged(zones, unwell)
    assert pools.zonal_mode is (mode == "zonal")
    assert numbers(pools.zonal if pools.zonal_mode else pools.general) == serving
    assert pools.reason is reason


def test_a_retry_that_leaves_the_zone_finds_only_what_is_well() -> None:
    assert numbers(judged("aabb", "3").general) == "124"


@pytest.mark.parametrize(("percent", "reason"), [(0, Reason.OFF), (25, Reason.OFF), (26, Reason.PANIC)])
def test_the_threshold_is_the_share_that_is_still_enough(percent: int, reason: Reason) -> None:
    assert judged("abcd", "123", panic_percent=percent, policy=ZONES_OFF).reason is reason


def test_terminating_endpoints_keep_their_reason_in_panic() -> None:
    pools = split((build.endpoint(ready=False, serving_terminating=True),), None, build.PREFER_ZONE)
    assert by_health(pools, is_well=lambda _: False, panic_percent=50) == pools


@given(
    strategies.any_endpoints, strategies.own_zones, strategies.policies, st.integers(0, 100), st.sets(st.integers(1, 8))
)
def test_what_served_before_is_never_replaced_by_nothing(
    endpoints: tuple[Endpoint, ...], own_zone: OwnZone, policy: ZonePolicy, percent: int, unwell: set[int]
) -> None:
    pools = split(endpoints, own_zone.zone, policy)

    def is_well(endpoint: Endpoint) -> bool:
        return int(endpoint.address[-1]) not in unwell

    kept = by_health(pools, is_well=is_well, panic_percent=percent)
    assert bool(kept.zonal if kept.zonal_mode else kept.general) == bool(pools.general)
    if kept.reason is not Reason.PANIC and pools.reason is not Reason.TERMINATING_LAST_RESORT:
        assert all(map(is_well, (*kept.zonal, *kept.general)))
