"""Chance and time decide which balancer a request gets, in the shares that policy, drain and rollout say."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import msgspec
import pytest

from balancer.model.endpoints import Backend
from balancer.model.zones import Zone, ZoneFacts, ZonePolicy, ZonePolicyName
from balancer.picking.backend import BackendRuntime
from balancer.picking.balancers import DryRun
from balancer.picking.members import Pick
from balancer.zones.draining import Drain
from balancer.zones.reasons import Reason
from balancer.zones.split import split
from balancer.zones.verdicts import Surroundings
from tests import builders as build

A, B, C = (Zone(f"zone-{letter}") for letter in "abc")
OWN = build.own_zone("zone-a")
PROPORTIONAL = ZonePolicy(ZonePolicyName.PROPORTIONAL, min_cluster_size=1)
NO_FACTS = ZoneFacts()
REPLICAS = ZoneFacts(replicas=((A, 1), (B, 1), (C, 1)))
PREFER_30 = ZonePolicy(ZonePolicyName.PREFER_ZONE, rollout_percent=30)


def backend_of(zones: str, policy: ZonePolicy) -> Backend:
    return build.backend(of=build.endpoints(zones), zone_policy=policy)


def runtime_of(
    zones: str,
    policy: ZonePolicy,
    *,
    facts: ZoneFacts = NO_FACTS,
    drain: Drain | None = None,
    chance: Callable[[int], int] | None = None,
) -> BackendRuntime:
    return BackendRuntime.fresh(
        backend_of(zones, policy),
        own_zone=OWN,
        random_below=chance or random.Random(7).randrange,
        zones=facts,
        drain=drain,
    )


def evenly(count: int) -> Callable[[int], int]:
    """Chance whose `count` answers to the same question are spread evenly over all that it may say."""
    calls: Counter[int] = Counter()

    def draw(below: int) -> int:
        calls[below] += 1
        return (calls[below] - 1) * below // count % below

    return draw


def picks(runtime: BackendRuntime, count: int, now: float = 0.0) -> list[Pick]:
    made = [runtime.balancer(None, now).pick((), now) for _ in range(count)]
    assert None not in made
    return [pick for pick in made if pick is not None]


def by_reason(made: list[Pick]) -> Counter[Reason]:
    return Counter(pick.reason for pick in made)


def by_zone(made: list[Pick]) -> Counter[str]:
    return Counter(pick.to_zone for pick in made)


def test_a_policy_that_leaves_nothing_to_chance_has_one_balancer() -> None:
    runtime = runtime_of("ab", build.PREFER_ZONE)
    assert runtime.balancer(None, 0.0) is runtime.balancer(None, 1.0)


def test_a_mixture_divides_as_the_verdict_says_to_the_basis_point() -> None:
    runtime = runtime_of("abbbbc", PROPORTIONAL, facts=REPLICAS, chance=evenly(10_000))
    around = Surroundings(own=OWN, zones=REPLICAS)
    pools = split(runtime.backend.endpoints, around, PROPORTIONAL)
    assert (pools.zonal_basis_points, len(pools.residuals)) == (4_998, 1)
    assert by_reason(picks(runtime, 10_000)) == {
        Reason.PROPORTIONAL_LOCAL: 4_998,
        Reason.PROPORTIONAL_RESIDUAL: 5_002,
    }


def test_residuals_share_by_their_weights() -> None:
    facts = ZoneFacts(replicas=((A, 3), (B, 1), (C, 1)))
    runtime = runtime_of("abbbbccc", PROPORTIONAL, facts=facts, chance=evenly(10_000))
    pools = split(runtime.backend.endpoints, Surroundings(own=OWN, zones=facts), PROPORTIONAL)
    to_b, to_c = (residual.weight for residual in pools.residuals)
    zones = by_zone(picks(runtime, 10_000))
    assert zones["zone-a"] == pools.zonal_basis_points
    assert zones["zone-b"] * to_c == pytest.approx(zones["zone-c"] * to_b, abs=to_b + to_c)


def test_each_part_of_a_mixture_is_a_fair_rotation_of_its_own() -> None:
    runtime = runtime_of("abbbbb", PROPORTIONAL, facts=ZoneFacts(replicas=((A, 1), (B, 1))))
    made = picks(runtime, 900)
    residual = [pick for pick in made if pick.reason is Reason.PROPORTIONAL_RESIDUAL]
    shares = Counter(pick.endpoint.address for pick in residual)
    assert len(shares) == 5
    assert max(shares.values()) - min(shares.values()) <= 1


def test_the_retries_of_a_residual_stay_in_its_zone_first_and_then_go_anywhere() -> None:
    runtime = runtime_of("abbcc", PROPORTIONAL, facts=REPLICAS)
    balancer = next(
        balancer
        for balancer in (runtime.balancer() for _ in range(1000))
        if balancer.pools.reason is Reason.PROPORTIONAL_RESIDUAL
    )
    tried: list[Pick] = []
    while (pick := balancer.pick([each.member for each in tried])) is not None:
        tried.append(pick)
    assert len(tried) == 5
    assert tried[0].to_zone == tried[1].to_zone != "zone-a"
    assert [pick.reason for pick in tried[2:]] == [Reason.RETRY_OTHER_ZONE] * 3


@pytest.mark.parametrize("used", range(40, 50))
def test_turns_of_a_mixture_go_on_across_a_change(used: int) -> None:
    facts = ZoneFacts(replicas=((A, 1), (B, 1)))
    before = runtime_of("abbb", PROPORTIONAL, facts=facts)
    residuals = [pick for pick in picks(before, used) if pick.reason is Reason.PROPORTIONAL_RESIDUAL]
    latest = {pick.endpoint.address: number for number, pick in enumerate(residuals)}
    after = before.with_backend(backend_of("abbbc", PROPORTIONAL), OWN, facts)
    assert after is not before
    following = [pick for pick in picks(after, 100) if pick.reason is Reason.PROPORTIONAL_RESIDUAL]
    in_zone_b = [pick.endpoint.address for pick in following if pick.to_zone == "zone-b"]
    assert in_zone_b[:3] == sorted(latest, key=lambda address: latest[address])


@pytest.mark.parametrize(("now", "share"), [(99.0, 0.0), (115.0, 0.5), (122.5, 0.75), (130.0, 1.0), (1e6, 1.0)])
def test_a_drain_is_ramped_by_chance(now: float, share: float) -> None:
    facts = ZoneFacts(drained=(B,))
    runtime = runtime_of("bc", build.PREFER_ZONE, facts=facts, drain=Drain(zones=((B, 100.0),)), chance=evenly(10_000))
    zones = by_zone(picks(runtime, 10_000, now))
    assert zones["zone-b"] == pytest.approx(5_000 * (1 - share), abs=2)


def test_before_its_begin_a_drain_holds_for_nobody() -> None:
    runtime = runtime_of("bc", build.PREFER_ZONE, drain=Drain(zones=((B, 100.0),)), chance=evenly(10_000))
    assert {runtime.balancer(None, 100.0).pools.drained for _ in range(10_000)} == {()}


def test_another_drain_is_another_runtime() -> None:
    runtime = runtime_of("bc", build.PREFER_ZONE, drain=Drain(zones=((B, 100.0),)))
    assert runtime.with_backend(runtime.backend, OWN, ZoneFacts(), Drain(zones=((B, 100.0),))) is runtime
    assert runtime.with_backend(runtime.backend, OWN, ZoneFacts(), Drain(zones=((B, 200.0),))) is not runtime


@pytest.mark.large
def test_two_drains_have_ramps_of_their_own() -> None:
    drain = Drain(zones=((B, 115.0), (C, 100.0)))
    runtime = runtime_of("bc-", build.PREFER_ZONE, drain=drain, chance=evenly(10_000))
    at = {now: by_zone(picks(runtime, 10_000, now)) for now in (100.0, 115.0, 130.0, 145.0)}
    assert at[100.0]["zone-c"] == pytest.approx(10_000 / 3, abs=2)
    assert at[115.0]["zone-c"] == pytest.approx(5_000 / 3, abs=2)
    assert at[130.0] == {"zone-b": 2_500, "unknown": 7_500}
    assert at[145.0] == {"unknown": 10_000}


def test_a_drain_of_a_zone_without_endpoints_leaves_nothing_to_chance() -> None:
    runtime = runtime_of("ac", build.PREFER_ZONE, drain=Drain(zones=((B, 100.0),)))
    assert len({id(runtime.balancer(None, 115.0)) for _ in range(50)}) == 1


def test_without_a_time_a_drain_counts_as_over() -> None:
    runtime = runtime_of("bc", build.PREFER_ZONE, drain=Drain(zones=((B, 100.0),)))
    assert {runtime.balancer().pools.general[0].zone for _ in range(20)} == {C}


def test_a_rollout_gives_the_policy_to_its_percentage() -> None:
    runtime = runtime_of("abc", PREFER_30, chance=evenly(1_000))
    assert by_reason(picks(runtime, 1_000)) == {Reason.ZONE_LOCAL: 300, Reason.ROLLOUT_EXCLUDED: 700}


@pytest.mark.parametrize(("percent", "reason"), [(0, Reason.ROLLOUT_EXCLUDED), (100, Reason.ZONE_LOCAL)])
def test_a_rollout_to_nobody_and_to_all(percent: int, reason: Reason) -> None:
    policy = msgspec.structs.replace(PREFER_30, rollout_percent=percent)
    assert by_reason(picks(runtime_of("abc", policy), 200)) == {reason: 200}


def test_requests_outside_the_rollout_take_all_in_turn() -> None:
    excluded = [pick for pick in picks(runtime_of("abc", PREFER_30), 400) if pick.reason is Reason.ROLLOUT_EXCLUDED]
    shares = by_zone(excluded)
    assert len(shares) == 3
    assert max(shares.values()) - min(shares.values()) <= 1


def test_a_request_stays_outside_the_rollout_with_its_retries() -> None:
    runtime = runtime_of("abc", msgspec.structs.replace(PREFER_30, rollout_percent=0))
    balancer = runtime.balancer()
    first = balancer.pick()
    assert first is not None
    second = balancer.pick([first.member])
    assert second is not None and second.reason is Reason.ROLLOUT_EXCLUDED


def test_of_a_policy_that_is_off_nobody_is_excluded() -> None:
    runtime = runtime_of("abc", ZonePolicy(rollout_percent=0))
    assert by_reason(picks(runtime, 30)) == {Reason.OFF: 30}


def test_that_only_drained_zones_are_left_outranks_the_rollout() -> None:
    runtime = runtime_of("bb", PREFER_30, facts=ZoneFacts(drained=(B,)))
    assert by_reason(picks(runtime, 30)) == {Reason.DRAINED_ZONE: 30}


def test_in_a_dry_run_each_request_foretells_one_decision_of_the_rollout() -> None:
    runtime = runtime_of("abc", msgspec.structs.replace(PREFER_30, dry_run=True), chance=evenly(1_000))
    assert isinstance(runtime.balancer(), DryRun)
    made = picks(runtime, 999)
    assert by_reason(made) == {Reason.OFF: 999}
    foretold = Counter(pick.foretold.reason for pick in made if pick.foretold is not None)
    assert foretold.total() == 999
    assert foretold[Reason.ZONE_LOCAL] == pytest.approx(300, abs=1)
    assert set(foretold) == {Reason.ZONE_LOCAL, Reason.ROLLOUT_EXCLUDED}


def test_a_dry_run_leaves_drained_zones_as_well() -> None:
    runtime = runtime_of("abc", ZonePolicy(ZonePolicyName.PREFER_ZONE, dry_run=True), facts=ZoneFacts(drained=(A,)))
    assert by_zone(picks(runtime, 100)) == {"zone-b": 50, "zone-c": 50}


def test_turns_go_on_when_a_drain_begins_and_when_it_is_called_off() -> None:
    calm = runtime_of("bbcc", build.PREFER_ZONE)
    first = picks(calm, 2)
    drained = ZoneFacts(drained=(B,))
    draining = calm.with_backend(calm.backend, OWN, drained, Drain(zones=((B, 100.0),)))
    second = picks(draining, 2, now=100.0)
    assert len({pick.member for pick in (*first, *second)}) == 4
    again = draining.with_backend(calm.backend, OWN)
    assert [pick.member for pick in picks(again, 4)] == [pick.member for pick in (*first, *second)]
