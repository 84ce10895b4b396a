"""A drain comes on by and by, from when it is first seen, and takes nothing away that is still needed."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from balancer.model.endpoints import Endpoint
from balancer.model.zones import OwnZone, Zone, ZoneFacts, ZonePolicy, ZonePolicyName
from balancer.zones.draining import Drain, DrainStage, apart, drain_after, leaves_load_balancers, share, stages
from balancer.zones.reasons import Reason
from balancer.zones.split import Pools, split
from balancer.zones.verdicts import Surroundings
from tests import builders as build
from tests.unit.balancer import strategies

A, B, C = (Zone(f"zone-{letter}") for letter in "abc")


def facts(*drained: Zone, ramp_seconds: float = 30.0) -> ZoneFacts:
    return ZoneFacts(drained=drained, drain_ramp_seconds=ramp_seconds)


def pools_of(zones: str, drained: tuple[Zone, ...], policy: ZonePolicy = build.PREFER_ZONE) -> Pools:
    """As seen from zone-a."""
    around = Surroundings(own=build.own_zone("zone-a"), zones=facts(*drained))
    return split(build.endpoints(zones), around, policy)


@pytest.mark.parametrize(
    ("now", "ramp_seconds", "expected"),
    [
        (99.0, 30.0, 0.0),
        (100.0, 30.0, 0.0),
        (115.0, 30.0, 0.5),
        (130.0, 30.0, 1.0),
        (1e9, 30.0, 1.0),
        (100.0, 0.0, 1.0),
    ],
)
def test_the_share_grows_evenly_to_all(now: float, ramp_seconds: float, expected: float) -> None:
    assert share(since=100.0, now=now, ramp_seconds=ramp_seconds) == expected


def test_a_drain_from_before_any_load_holds_for_all_at_any_time() -> None:
    assert share(since=-inf, now=-1.0, ramp_seconds=30.0) == share(since=-inf, now=inf, ramp_seconds=30.0) == 1.0


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0, 1e3))
def test_the_share_never_shrinks_and_stays_a_share(one: float, other: float, ramp_seconds: float) -> None:
    earlier, later = (share(since=100.0, now=now, ramp_seconds=ramp_seconds) for now in sorted((one, other)))
    assert 0.0 <= earlier <= later <= 1.0


def test_a_drain_begins_when_it_is_first_seen_and_goes_on_from_there() -> None:
    nothing = drain_after(None, facts(), 0.0)
    begun = drain_after(nothing, facts(B), 100.0)
    assert begun.zones == ((B, 100.0),)
    assert drain_after(begun, facts(B), 110.0) == begun
    assert drain_after(begun, facts(B, C), 120.0).zones == ((B, 100.0), (C, 120.0))


def test_a_drain_that_was_called_off_begins_anew() -> None:
    begun = drain_after(drain_after(None, facts(), 0.0), facts(B), 100.0)
    assert drain_after(drain_after(begun, facts(), 200.0), facts(B), 300.0).zones == ((B, 300.0),)


def test_who_starts_into_a_drain_has_no_load_to_move() -> None:
    assert drain_after(None, facts(B), 100.0).zones == ((B, -inf),)


def test_the_length_of_the_ramp_is_the_newest() -> None:
    begun = drain_after(None, facts(B), 0.0)
    assert drain_after(begun, facts(B, ramp_seconds=5.0), 1.0).ramp_seconds == 5.0


@pytest.mark.parametrize(
    ("zones", "expected"),
    [
        ((), [(-inf, ())]),
        (((B, 7.0),), [(-inf, ()), (7.0, (B,))]),
        (((B, -inf),), [(-inf, (B,))]),
        (((B, 9.0), (C, 7.0)), [(-inf, ()), (7.0, (C,)), (9.0, (B, C))]),
        (((B, 7.0), (C, 7.0)), [(-inf, ()), (7.0, (B, C))]),
    ],
)
def test_stages_are_the_steps_of_all_drains(
    zones: tuple[tuple[Zone, float], ...], expected: list[tuple[float, tuple[Zone, ...]]]
) -> None:
    assert stages(Drain(zones)) == tuple(DrainStage(*each) for each in expected)


@given(st.dictionaries(st.sampled_from([A, B, C]), st.sampled_from([-inf, 1.0, 2.0, 3.0])))
def test_later_stages_drain_more_of_fewer_requests(begun: dict[Zone, float]) -> None:
    steps = stages(Drain(tuple(sorted(begun.items()))))
    assert steps[0].since == -inf
    assert set(steps[-1].zones) == set(begun)
    for before, after in pairwise(steps):
        assert before.since < after.since
        assert set(before.zones) < set(after.zones)


@given(strategies.ready_endpoints, st.lists(st.sampled_from([A, B, C]), unique=True).map(tuple))
def test_endpoints_stay_or_leave_and_some_always_stay(ready: tuple[Endpoint, ...], drained: tuple[Zone, ...]) -> None:
    staying, leaving = apart(ready, drained)
    assert staying
    assert sorted((*staying, *leaving)) == sorted(ready)
    assert {endpoint.zone for endpoint in leaving} <= set(drained)
    assert not leaving or not {endpoint.zone for endpoint in staying} & set(drained)


def test_a_policy_decides_without_the_drained_zone() -> None:
    pools = pools_of("abc", (B,), build.PREFER_ZONE)
    assert [endpoint.zone for endpoint in pools.general] == [A, C]
    assert [endpoint.zone for endpoint in pools.drained] == [B]
    assert pools.reason is Reason.ZONE_LOCAL


def test_the_own_zone_may_be_drained() -> None:
    pools = pools_of("aabc", (A,))
    assert (pools.reason, pools.zonal_mode) == (Reason.ZONE_EMPTY, False)
    assert [endpoint.zone for endpoint in pools.general] == [B, C]


@pytest.mark.parametrize(("zones", "mode"), [("aab", True), ("bb", False)])
def test_where_nothing_else_is_left_drained_zones_serve_and_the_reason_says_so(zones: str, mode: bool) -> None:
    pools = pools_of(zones, (A, B))
    assert pools.reason is Reason.DRAINED_ZONE
    assert pools.zonal_mode is mode
    assert pools.general == build.endpoints(zones)


def test_a_drained_zone_that_the_backend_is_not_in_changes_nothing() -> None:
    assert pools_of("ab", (C,)) == pools_of("ab", ())


def test_endpoints_of_an_unknown_zone_are_not_drained() -> None:
    assert [endpoint.zone for endpoint in pools_of("-b", (B,)).general] == [None]


def test_where_none_is_ready_a_drain_has_no_say() -> None:
    terminating = (build.endpoint(zone="zone-b", ready=False, serving_terminating=True),)
    pools = split(terminating, Surroundings(own=build.own_zone("zone-a"), zones=facts(B)), build.PREFER_ZONE)
    assert (pools.general, pools.reason) == (terminating, Reason.TERMINATING_LAST_RESORT)


def test_a_strict_list_would_rather_use_what_is_drained_than_nothing() -> None:
    strict = ZonePolicy(ZonePolicyName.ORDERED, keys=("topology.kubernetes.io/zone",))
    pools = pools_of("ab", (A,), strict)
    assert ([endpoint.zone for endpoint in pools.zonal], pools.reason) == ([A], Reason.DRAINED_ZONE)
    refused = pools_of("bb", (B,), strict)
    assert (refused.refuses, refused.reason) == (True, Reason.ORDERED_NONE)


@pytest.mark.parametrize(
    ("own", "drained", "replicas", "leaves"),
    [
        ("zone-a", ("zone-a",), (("zone-a", 1), ("zone-b", 1)), True),
        ("zone-a", ("zone-a",), (("zone-b", 1),), True),
        ("zone-b", ("zone-a",), (("zone-a", 1), ("zone-b", 1)), False),
        (None, ("zone-a",), (("zone-a", 1), ("zone-b", 1)), False),
        ("zone-a", (), (("zone-a", 1), ("zone-b", 1)), False),
        ("zone-a", ("zone-a",), (("zone-a", 3),), False),
        ("zone-a", ("zone-a", "zone-b"), (("zone-a", 1), ("zone-b", 1)), False),
        ("zone-a", ("zone-a",), (("zone-a", 1), ("zone-b", 0)), False),
        ("zone-a", ("zone-a",), None, False),
    ],
)
def test_replicas_of_a_drained_zone_leave_only_if_others_are_known(
    own: str | None, drained: tuple[str, ...], replicas: tuple[tuple[str, int], ...] | None, *, leaves: bool
) -> None:
    by_zone = None if replicas is None else tuple((Zone(zone), count) for zone, count in replicas)
    facts = ZoneFacts(replicas=by_zone, drained=tuple(map(Zone, drained)), drained_replicas_leave=True)
    here = OwnZone(Zone(own) if own is not None else None)
    assert leaves_load_balancers(here, facts) is leaves
    assert not leaves_load_balancers(here, replace(facts, drained_replicas_leave=False))


@given(st.lists(st.sampled_from((A, B, C)), min_size=1), st.sets(st.sampled_from((A, B, C))))
def test_never_all_replicas_leave(places: list[Zone], drained: set[Zone]) -> None:
    facts = ZoneFacts(
        replicas=tuple(sorted(Counter(places).items())), drained=tuple(sorted(drained)), drained_replicas_leave=True
    )
    assert not all(leaves_load_balancers(OwnZone(zone), facts) for zone in places)
