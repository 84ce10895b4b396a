"""The mode is decided first, over ready endpoints; then the pools are what the mode says."""

from __future__ import annotations

import pytest
from hypothesis import given

from balancer.model.endpoints import Endpoint
from balancer.model.zones import ZONES_OFF, Zone, ZoneEvacuation, ZonePolicy, ZonePolicyName
from balancer.zones.draining import apart
from balancer.zones.reasons import Reason
from balancer.zones.split import Pools, evacuation_in_force, in_force, split
from balancer.zones.verdicts import Residual, Surroundings
from tests import builders as build
from tests.properties import examples
from tests.unit.balancer.zones.surroundings import around, every_policy, everywhere, some_endpoints

HERE = around("zone-a")


def test_zonal_mode() -> None:
    ready = build.endpoints("ab")
    assert split(ready, HERE, build.PREFER_ZONE) == Pools(
        zonal=ready[:1], general=ready, reason=Reason.ZONE_LOCAL, zonal_mode=True
    )


def test_general_mode_says_why_and_has_no_zonal_pool() -> None:
    ready = build.endpoints("bc")
    assert split(ready, HERE, build.PREFER_ZONE) == Pools(
        zonal=(), general=ready, reason=Reason.ZONE_EMPTY, zonal_mode=False
    )


def test_the_flag_off_is_one_pool_of_every_ready_endpoint() -> None:
    ready = build.endpoints("ab-")
    assert split(ready, HERE, ZONES_OFF) == Pools(zonal=(), general=ready, reason=Reason.OFF, zonal_mode=False)


def test_an_endpoint_that_is_not_ready_counts_for_nothing() -> None:
    unready = build.endpoint("10.0.0.1", zone="zone-a", ready=False)
    ready = build.endpoint("10.0.0.2", zone="zone-b")
    pools = split((unready, ready), HERE, build.PREFER_ZONE)
    assert (pools.general, pools.reason) == ((ready,), Reason.ZONE_EMPTY)


@pytest.mark.parametrize("policy", [ZONES_OFF, build.PREFER_ZONE])
def test_without_a_ready_endpoint_those_that_still_serve_are_used_in_every_zone(policy: ZonePolicy) -> None:
    gone = build.endpoint("10.0.0.1", zone="zone-a", ready=False)
    local = build.endpoint("10.0.0.2", zone="zone-a", ready=False, serving_terminating=True)
    remote = build.endpoint("10.0.0.3", zone="zone-b", ready=False, serving_terminating=True)
    assert split((gone, local, remote), HERE, policy) == Pools(
        zonal=(), general=(local, remote), reason=Reason.TERMINATING_LAST_RESORT, zonal_mode=False
    )


@pytest.mark.parametrize("policy", [ZONES_OFF, build.PREFER_ZONE])
def test_one_ready_endpoint_is_reason_enough_to_leave_terminating_ones_alone(policy: ZonePolicy) -> None:
    terminating = build.endpoint("10.0.0.1", zone="zone-a", ready=False, serving_terminating=True)
    ready = build.endpoint("10.0.0.2", zone="zone-b")
    assert split((terminating, ready), HERE, policy).general == (ready,)


def test_the_shares_of_a_policy_that_divides_come_with_the_pools() -> None:
    ready = build.endpoints("abb")
    policy = ZonePolicy(ZonePolicyName.PROPORTIONAL, min_cluster_size=1)
    pools = split(ready, around("zone-a", replicas={"zone-a": 1, "zone-b": 1}), policy)
    assert (pools.zonal, pools.zonal_basis_points, pools.residuals) == (ready[:1], 6_666, (Residual(ready[1:], 1_666),))


@examples(300)
@given(some_endpoints, everywhere, every_policy)
def test_the_pool_of_the_chosen_mode_is_empty_only_if_nothing_can_serve_or_a_strict_list_refuses(
    endpoints: tuple[Endpoint, ...], here: Surroundings, policy: ZonePolicy
) -> None:
    pools = split(endpoints, here, policy)
    serving = pools.zonal if pools.zonal_mode else pools.general
    if pools.reason is Reason.ORDERED_NONE:
        assert (pools.zonal_mode, pools.zonal, policy.name) == (True, (), ZonePolicyName.ORDERED)
    else:
        assert bool(serving) == any(endpoint.ready or endpoint.serving_terminating for endpoint in endpoints)
    assert set(pools.zonal) <= set(pools.general) <= set(endpoints)
    assert pools.zonal_mode or not pools.zonal


AUTO = ZonePolicy(ZonePolicyName.PREFER_ZONE, heeds_hints=True)


@examples(200)
@given(some_endpoints, everywhere)
def test_auto_is_hints_while_every_ready_endpoint_has_them(
    endpoints: tuple[Endpoint, ...], around: Surroundings
) -> None:
    staying = apart(tuple(each for each in endpoints if each.ready), around.zones.drained)[0]
    hinted = bool(staying) and (all(e.hint_zones for e in staying) or all(e.hint_nodes for e in staying))
    expected = ZonePolicyName.HINTS if hinted else ZonePolicyName.PREFER_ZONE
    assert in_force(AUTO, staying) is expected
    assert split(endpoints, around, AUTO) == split(endpoints, around, ZonePolicy(expected))


def test_a_policy_that_was_chosen_reads_no_hints() -> None:
    hinted = (build.endpoint("10.0.0.1", zone="zone-a", hint_zones=(Zone("zone-b"),)),)
    assert in_force(build.PREFER_ZONE, hinted) is ZonePolicyName.PREFER_ZONE
    assert split(hinted, HERE, build.PREFER_ZONE).reason is Reason.ZONE_LOCAL
    assert split(hinted, HERE, AUTO).reason is Reason.ZONE_NOT_HINTED


def test_hints_that_auto_heeds_are_not_left_unless_somebody_asks() -> None:
    hinted = (build.endpoint("10.0.0.1", zone="zone-a", hint_zones=(Zone("zone-b"),)),)
    asked = ZonePolicy(ZonePolicyName.PREFER_ZONE, heeds_hints=True, asked_evacuation=ZoneEvacuation.ON)
    assert evacuation_in_force(AUTO, hinted) is ZoneEvacuation.OFF
    assert evacuation_in_force(asked, hinted) is ZoneEvacuation.ON
    assert evacuation_in_force(AUTO, build.endpoints("ab")) is ZoneEvacuation.ON
    assert evacuation_in_force(build.PREFER_ZONE, hinted) is ZoneEvacuation.ON
