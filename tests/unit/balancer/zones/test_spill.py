"""Health changes pools after the policy has spoken: stay, leave the zone, or ignore health, but never serve nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.endpoints import Backend, Endpoint
from balancer.model.zones import ZONES_OFF, OwnZone, Zone, ZoneFacts, ZonePolicy, ZonePolicyName
from balancer.zones.reasons import Reason
from balancer.zones.spill import beyond, by_health
from balancer.zones.split import Pools, split
from balancer.zones.verdicts import Surroundings
from tests import builders as build
from tests.unit.balancer import strategies


def judged(
    zones: str, unwell: str, *, panic_percent: int = 50, policy: ZonePolicy = build.PREFER_ZONE, drained: str = ""
) -> Pools:
    """`zones` as in `builders.endpoints`; `unwell` holds the last digits of addresses, `drained` letters of zones."""
    around = Surroundings(own=build.own_zone("zone-a"), zones=facts(drained))
    pools = split(build.endpoints(zones), around, policy)
    return by_health(pools, is_well=lambda endpoint: endpoint.address[-1] not in unwell, panic_percent=panic_percent)


def facts(drained: str) -> ZoneFacts:
    return ZoneFacts(drained=tuple(Zone(f"zone-{letter}") for letter in drained))


def numbers(endpoints: tuple[Endpoint, ...]) -> str:
    return "".join(endpoint.address[-1] for endpoint in endpoints)


@pytest.mark.parametrize(
    ("zones", "unwell", "avoided", "drained", "serving"),
    [
        pytest.param("aabb", "", "a", "", "34", id="the other zone"),
        pytest.param("aabbcc", "", "ab", "", "56", id="the third zone"),
        pytest.param("aabb", "", "b", "", "", id="not the own zone"),
        pytest.param("bbcc", "", "b", "", "34", id="in general mode"),
        pytest.param("aabb", "3", "a", "", "4", id="half of the others well"),
        pytest.param("aabbb", "34", "a", "", "", id="too few of the others well"),
        pytest.param("aabb", "12", "a", "", "", id="health has left the zone"),
        pytest.param("aabbcc", "", "a", "b", "56", id="a drained zone receives nothing"),
        pytest.param("aab-", "", "a", "", "34", id="an unknown zone receives"),
        pytest.param("aa", "", "a", "", "", id="nowhere to go"),
    ],
)
def test_requests_that_avoid_zones_go_to_what_is_well_elsewhere(
    zones: str, unwell: str, avoided: str, drained: str, serving: str
) -> None:
    around = Surroundings(own=build.own_zone("zone-a"), zones=facts(drained))
    pools = split(build.endpoints(zones), around, build.PREFER_ZONE)
    kept = by_health(pools, is_well=lambda endpoint: endpoint.address[-1] not in unwell, panic_percent=50)
    names = {f"zone-{letter}" for letter in avoided}
    assert numbers(beyond(kept, pools, avoided=names, panic_percent=50)) == serving


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
    pools = split((build.endpoint(ready=False, serving_terminating=True),), Surroundings(), build.PREFER_ZONE)
    assert by_health(pools, is_well=lambda _: False, panic_percent=50) == pools


@pytest.mark.parametrize(
    ("unwell", "serving", "reason"),
    [
        pytest.param("12", "34", Reason.SPILL_HEALTH, id="the general pool before the drained zone"),
        pytest.param("1234", "56", Reason.DRAINED_ZONE, id="the drained zone, as nothing else is well"),
        pytest.param("12345", "6", Reason.DRAINED_ZONE, id="half of the drained zone is enough"),
        pytest.param("123", "1234", Reason.PANIC, id="not while anything else is well"),
        pytest.param("123456", "1234", Reason.PANIC, id="panic without the drained zone"),
    ],
)
def test_a_drained_zone_is_used_once_nothing_else_is_well(unwell: str, serving: str, reason: Reason) -> None:
    pools = judged("aaccbb", unwell, drained="b")
    assert (numbers(pools.general), pools.zonal_mode, pools.reason) == (serving, False, reason)


def test_a_drained_zone_that_is_unwell_is_no_fallback() -> None:
    assert numbers(judged("aabb", "4", drained="b").drained) == "3"


def test_in_panic_drained_zones_are_still_the_last_to_be_tried() -> None:
    assert numbers(judged("aaccbb", "123456", drained="b").drained) == "56"


def test_that_only_drained_zones_are_left_outranks_that_they_are_unwell() -> None:
    assert judged("aaab", "12", drained="ab").reason is Reason.DRAINED_ZONE
    assert judged("aaab", "1234", drained="ab").reason is Reason.PANIC


def test_a_strict_list_stays_strict_when_something_is_unwell() -> None:
    strict = ZonePolicy(ZonePolicyName.ORDERED, keys=("kubernetes.io/hostname",))
    pools = judged("bb", "1", policy=strict)
    assert (pools.refuses, pools.reason) == (True, Reason.ORDERED_NONE)


@given(
    strategies.backends(),
    strategies.own_zones,
    st.integers(0, 100),
    st.sets(st.integers(1, 8)),
    st.sampled_from(["", "b", "ab"]),
)
def test_what_served_before_is_never_replaced_by_nothing(
    backend: Backend, own_zone: OwnZone, percent: int, unwell: set[int], drained: str
) -> None:
    around = Surroundings(own=own_zone, zones=facts(drained))
    pools = split(backend.endpoints, around, backend.zone_policy)

    def is_well(endpoint: Endpoint) -> bool:
        return int(endpoint.address[-1]) not in unwell

    kept = by_health(pools, is_well=is_well, panic_percent=percent)
    assert bool(kept.zonal if kept.zonal_mode else kept.general) == bool(pools.general)
    if kept.reason is not Reason.PANIC and pools.reason is not Reason.TERMINATING_LAST_RESORT:
        assert all(map(is_well, (*kept.zonal, *kept.general)))
