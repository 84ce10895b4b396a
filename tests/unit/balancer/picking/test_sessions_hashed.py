"""A hash of something in the request leads to one endpoint, wherever that stands."""

from __future__ import annotations

from collections import Counter

import msgspec

from balancer.model.zones import Zone, ZoneFacts
from balancer.picking.members import Member
from balancer.zones.reasons import Reason
from tests import builders as build
from tests.unit.balancer.picking.test_sessions import (
    SIX,
    eject,
    every_pick,
    hashing,
    must,
    picked,
    runtime_of,
    session,
)


def test_a_hash_leads_to_one_endpoint_over_all_zones() -> None:
    here, there = runtime_of(zone="zone-a"), runtime_of(zone="zone-c")
    reasons: Counter[Reason] = Counter()
    for number in range(60):
        pick = picked(hashing(), here, target=f"/?x={number}")
        assert picked(hashing(), there, target=f"/?x={number}").member.label == pick.member.label
        reasons[pick.reason] += 1
    assert set(reasons) == {Reason.ZONE_LOCAL, Reason.AFFINITY_OVERRIDE}


def test_an_ejected_or_full_endpoint_hands_its_hash_to_the_next_of_the_circle() -> None:
    branch, runtime = hashing(), runtime_of(msgspec.structs.replace(SIX, max_concurrency_per_endpoint=1))
    first = picked(branch, runtime, target="/?x=1")
    eject(runtime, first.member)
    second = picked(branch, runtime, target="/?x=1")
    assert second.member is not first.member
    second.member.in_flight = 1
    assert picked(branch, runtime, target="/?x=1").member not in (first.member, second.member)
    probe = must(session(branch, runtime, target="/?x=1").pick((), 60.0))
    assert (probe.member, probe.probe) == (first.member, True)


def test_when_nobody_is_well_a_hash_ignores_health() -> None:
    free = msgspec.structs.replace(SIX.ejection, max_percent=100)
    runtime = runtime_of(msgspec.structs.replace(SIX, ejection=free))
    first = picked(hashing(), runtime, target="/?x=1")
    for pick in every_pick(runtime):
        eject(runtime, pick.member)
    assert picked(hashing(), runtime, target="/?x=1").member is first.member


def test_a_request_that_says_nothing_to_hash_is_balanced_like_any_other() -> None:
    branch, runtime = hashing(), runtime_of()
    assert len({picked(branch, runtime).member.label for _ in range(2)}) == 2


def test_a_retry_of_a_hashed_request_goes_where_the_balancer_says() -> None:
    one = session(hashing(), runtime_of(), target="/?x=1")
    first = must(one.pick())
    tried: list[Member] = [first.member]
    while (pick := one.pick(tried)) is not None:
        assert pick.member not in tried
        tried.append(pick.member)
    assert len(tried) == 6


def test_a_hash_leads_into_a_drained_zone_only_when_nothing_else_is_left() -> None:
    facts = ZoneFacts(drained=(Zone("zone-a"),))
    runtime = runtime_of().with_backend(SIX, build.own_zone("zone-a"), facts)
    zones = {picked(hashing(), runtime, target=f"/?x={number}").to_zone for number in range(40)}
    assert zones == {"zone-b", "zone-c"}
    alone = build.backend(of=build.endpoints("aa"), zone_policy=build.PREFER_ZONE)
    last = runtime.with_backend(alone, build.own_zone("zone-a"), facts)
    assert picked(hashing(), last, target="/?x=1").reason is Reason.DRAINED_ZONE


def test_in_a_dry_run_each_hashed_request_is_told_what_the_policy_would_have_said() -> None:
    policy = msgspec.structs.replace(build.PREFER_ZONE, dry_run=True)
    runtime = runtime_of(build.backend(of=build.endpoints("aabbcc"), zone_policy=policy))
    made = [picked(hashing(), runtime, target=f"/?x={number}") for number in range(50)]
    assert {(pick.to_zone == "zone-a", pick.foretold.reason) for pick in made if pick.foretold is not None} == {
        (True, Reason.ZONE_LOCAL),
        (False, Reason.AFFINITY_OVERRIDE),
    }
    assert {pick.reason for pick in made} == {Reason.OFF}
    assert all(pick.foretold is not None for pick in made)
