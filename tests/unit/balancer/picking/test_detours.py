"""Requests avoid the zones that are left, as many as the shares say, and only where enough is left for them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection
from itertools import pairwise

import msgspec
import pytest

from balancer.model.endpoints import Backend, Ejection, LoadBalancing
from balancer.model.zones import Zone, ZoneEvacuation, ZoneFacts, ZonePolicy, ZonePolicyName
from balancer.picking.backend import BackendRuntime
from balancer.picking.members import Member, Pick
from balancer.picking.outcomes import Outcome
from balancer.zones.reasons import Reason
from tests import builders as build

PREFER, ADAPTIVE = ZonePolicy(ZonePolicyName.PREFER_ZONE), ZonePolicy(ZonePolicyName.ADAPTIVE)


def runtime_of(
    zones: str, policy: ZonePolicy = PREFER, *, facts: ZoneFacts | None = None, changed: Backend | None = None
) -> BackendRuntime:
    backend = changed or build.backend(of=build.endpoints(zones), zone_policy=policy)
    runtime = BackendRuntime.fresh(
        backend, own_zone=build.own_zone("zone-a"), random_below=random.Random(1).randrange, zones=facts or ZoneFacts()
    )
    runtime.balancer(None, 0.0)
    return runtime


def leave(runtime: BackendRuntime, **shares: float) -> None:
    runtime.evacuation.left.update({f"zone-{letter}": round(share * 10_000) for letter, share in shares.items()})


def picks(runtime: BackendRuntime, count: int = 2000, *, tried: Collection[Member] = ()) -> list[Pick]:
    found = [runtime.balancer(None, 0.0).pick(tried, 0.0) for _ in range(count)]
    return [pick for pick in found if pick is not None]


def zones_of(found: list[Pick]) -> Counter[str]:
    return Counter(pick.to_zone for pick in found)


@pytest.mark.parametrize("policy", [PREFER, ADAPTIVE], ids=lambda policy: policy.name.value)
def test_a_share_of_the_requests_avoids_a_zone_and_spreads_over_the_others(policy: ZonePolicy) -> None:
    runtime = runtime_of("aabbcc", policy)
    leave(runtime, a=0.3)
    counts = zones_of(picks(runtime))
    assert counts["zone-a"] == pytest.approx(1400, abs=80)
    assert counts["zone-b"] == pytest.approx(300, abs=80)
    assert {pick.reason for pick in picks(runtime) if pick.to_zone != "zone-a"} == {Reason.SPILL_ERRORS}


@pytest.mark.parametrize(
    ("policy", "leaves"),
    [
        (ZonePolicy(ZonePolicyName.PREFER_ZONE, asked_evacuation=ZoneEvacuation.OFF), False),
        (ZonePolicy(ZonePolicyName.PREFER_ZONE, asked_evacuation=ZoneEvacuation.DRY_RUN), False),
        (ZonePolicy(ZonePolicyName.ORDERED, keys=("topology.kubernetes.io/zone",)), False),
        (
            ZonePolicy(
                ZonePolicyName.ORDERED, keys=("topology.kubernetes.io/zone",), asked_evacuation=ZoneEvacuation.ON
            ),
            True,
        ),
        (ZonePolicy(ZonePolicyName.OFF, asked_evacuation=ZoneEvacuation.ON), False),
    ],
)
def test_who_does_not_ask_for_it_leaves_no_zone(policy: ZonePolicy, leaves: bool) -> None:
    runtime = runtime_of("aabbcc", policy)
    leave(runtime, a=0.97)
    assert (Reason.SPILL_ERRORS in {pick.reason for pick in picks(runtime)}) is leaves


def test_while_no_zone_is_left_turns_go_on_as_ever() -> None:
    runtime = runtime_of("aaab")
    assert [pick.endpoint.address for pick in picks(runtime, 6)] == [
        pick.endpoint.address for pick in picks(runtime, 3)
    ] * 2


def test_two_zones_are_avoided_by_nested_shares() -> None:
    runtime = runtime_of("abc")
    leave(runtime, a=0.5, b=0.1)
    counts = zones_of(picks(runtime, 4000))
    assert counts["zone-a"] == pytest.approx(2000, abs=120)
    assert counts["zone-b"] == pytest.approx(800, abs=120)  # half of those that avoid only zone-a


def test_a_retry_avoids_each_zone_that_is_left_however_little() -> None:
    runtime = runtime_of("aabbcc")
    leave(runtime, a=0.02)
    first = runtime.members["10.0.0.1:80"]
    assert "zone-a" not in zones_of(picks(runtime, 100, tried=(first,)))


def test_where_too_few_of_the_others_are_healthy_nobody_leaves() -> None:
    backend = build.backend(of=build.endpoints("aabbbb"), zone_policy=PREFER)
    backend = msgspec.structs.replace(backend, ejection=Ejection(consecutive_errors=1, max_percent=100))
    runtime = runtime_of("", changed=backend)
    leave(runtime, a=0.97)
    members = list(runtime.members.values())
    for member in members[2:4]:
        runtime.health.report(member.health, Outcome.UNREACHED, now=0.0)
    assert zones_of(picks(runtime))["zone-b"] == pytest.approx(1940, abs=60)
    runtime.health.report(members[4].health, Outcome.UNREACHED, now=0.0)
    assert set(zones_of(picks(runtime))) == {"zone-a"}


def test_an_ejected_endpoint_elsewhere_is_tried_again_by_a_request_that_leaves() -> None:
    backend = build.backend(of=build.endpoints("aabbbb"), zone_policy=PREFER)
    backend = msgspec.structs.replace(backend, ejection=Ejection(consecutive_errors=1, seconds=5.0, max_percent=50))
    runtime = runtime_of("", changed=backend)
    leave(runtime, a=1.0)
    broken = runtime.members["10.0.0.3:80"]
    runtime.health.report(broken.health, Outcome.UNREACHED, now=0.0)
    probes = [runtime.balancer(None, now).pick((), now) for now in (1.0, 6.0, 6.0)]
    assert [pick is not None and pick.probe and pick.member is broken for pick in probes] == [False, True, False]


def test_an_ejected_endpoint_of_a_zone_that_is_left_is_tried_each_second() -> None:
    backend = build.backend(of=build.endpoints("abb"), zone_policy=PREFER)
    runtime = runtime_of("", changed=msgspec.structs.replace(backend, ejection=Ejection(consecutive_errors=1)))
    leave(runtime, a=0.5)
    broken = runtime.members["10.0.0.1:80"]
    runtime.health.report(broken.health, Outcome.UNREACHED, now=0.0)
    probed: list[float] = []
    for tenth in range(1, 41):
        now = tenth / 10
        pick = runtime.balancer(None, now).pick((), now)
        assert pick is not None
        if pick.probe:
            probed.append(now)
            runtime.health.report(broken.health, Outcome.UNREACHED, now, True)
    assert 3 <= len(probed) <= 5
    assert all(later - earlier >= 1.0 for earlier, later in pairwise(probed))


def test_a_zone_that_is_held_after_its_endpoints_were_tried_early_is_back_soon_after_its_repair() -> None:
    """No zone is left any more, so nobody is tried early: only the time of the ejection is waited for."""
    backend = build.backend(of=build.endpoints("aabbcc"), zone_policy=PREFER)
    runtime = runtime_of("", changed=msgspec.structs.replace(backend, ejection=Ejection(consecutive_errors=1)))
    leave(runtime, a=0.97)
    home = [each for each in runtime.members.values() if each.endpoint.zone == "zone-a"]
    for each in home:
        runtime.health.report(each.health, Outcome.UNREACHED, now=0.0)
    tried = 0
    for hundredth in range(1, 800):
        pick = runtime.balancer(None, hundredth / 100).pick((), hundredth / 100)
        assert pick is not None
        if pick.probe:
            tried += 1
            runtime.health.report(pick.member.health, Outcome.UNREACHED, hundredth / 100, True)
    assert tried >= 4
    runtime.evacuation.left.clear()
    found = [runtime.balancer(None, now).pick((), now) for now in (8.0, 10.0, 10.0)]
    assert [pick is not None and pick.probe and pick.to_zone for pick in found] == [False, "zone-a", "zone-a"]


def test_full_endpoints_elsewhere_send_the_request_back_home() -> None:
    backend = build.backend(of=build.endpoints("ab"), zone_policy=PREFER)
    runtime = runtime_of("", changed=msgspec.structs.replace(backend, max_concurrency_per_endpoint=1))
    leave(runtime, a=1.0)
    runtime.members["10.0.0.2:80"].in_flight = 1
    assert set(zones_of(picks(runtime, 10))) == {"zone-a"}


def test_requests_that_leave_for_load_avoid_a_sick_zone_as_well() -> None:
    """Under `adaptive`, a zone at home that is strained must not hand its requests to one that fails."""
    runtime = runtime_of("aabbcc", ADAPTIVE)
    leave(runtime, b=1.0)
    (controller,) = runtime.plans.controllers()
    controller.basis_points = 5_000
    counts = zones_of(picks(runtime))
    assert counts["zone-c"] == pytest.approx(1000, abs=10)
    assert counts["zone-b"] == 0


def test_in_general_mode_a_zone_is_avoided_as_well() -> None:
    runtime = runtime_of("bbcc")  # the own zone is empty
    leave(runtime, b=0.97)
    assert zones_of(picks(runtime))["zone-b"] == pytest.approx(30, abs=30)


def test_drained_zones_receive_nothing() -> None:
    runtime = runtime_of("abc", facts=ZoneFacts(drained=(Zone("zone-b"),)))
    leave(runtime, a=0.97)
    assert "zone-b" not in zones_of(picks(runtime))


def test_least_request_chooses_among_those_that_receive() -> None:
    backend = build.backend(of=build.endpoints("abbb"), zone_policy=PREFER)
    runtime = runtime_of("", changed=msgspec.structs.replace(backend, load_balancing=LoadBalancing.LEAST_REQUEST))
    leave(runtime, a=1.0)
    busy = runtime.members["10.0.0.2:80"]
    busy.in_flight = 50
    assert busy not in {pick.member for pick in picks(runtime, 200)}


@pytest.mark.parametrize("policy", [PREFER, ADAPTIVE], ids=lambda policy: policy.name.value)
def test_what_is_foreseen_is_what_comes(policy: ZonePolicy) -> None:
    runtime = runtime_of("aabbcc", policy)
    leave(runtime, a=0.3, b=0.1)
    foreseen: Counter[str] = Counter()
    for chance in runtime.chances(None, 0.0):
        outlook = chance.serving.outlook(0.0, leaves=chance.leaves, avoided=chance.avoided)
        for pick in outlook.picks:
            foreseen[pick.to_zone] += round(chance.probability / len(outlook.picks) * 10_000)
    counts = zones_of(picks(runtime, 5000))
    assert sum(chance.probability for chance in runtime.chances(None, 0.0)) == pytest.approx(1.0)
    for zone, points in foreseen.items():
        assert counts[zone] / 5000 == pytest.approx(points / 10_000, abs=0.03)
