"""Plans of a backend: one for each policy that requests ask for, whose turns go on across changes, and not too many."""

from __future__ import annotations

from balancer.model.zones import ZONES_OFF, ZoneEvacuation, ZonePolicy, ZonePolicyName
from balancer.picking.backend import BackendRuntime
from tests import builders as build
from tests.unit.balancer.picking.runtimes import last_numbers, runtime_of


def test_a_plan_is_made_when_a_request_asks_for_it() -> None:
    runtime = runtime_of("ab")
    assert runtime.plans.policies() == ()
    runtime.balancer()
    assert runtime.plans.policies() == (build.PREFER_ZONE,)


def test_a_change_keeps_policies_in_use_and_makes_no_plan() -> None:
    before = runtime_of("ab")
    before.balancer()
    after = before.with_backend(
        build.backend(of=build.endpoints("abb"), zone_policy=ZONES_OFF), build.own_zone("zone-a")
    )
    assert after.plans.is_unused
    assert after.plans.policies() == (ZONES_OFF,)


def test_turns_go_on_when_the_flag_flips_there_and_back() -> None:
    def flipped(runtime: BackendRuntime, policy: ZonePolicy) -> BackendRuntime:
        return runtime.with_backend(
            build.backend(of=build.endpoints("bbbb"), zone_policy=policy), build.own_zone("zone-a")
        )

    off = runtime_of("bbbb", policy=ZONES_OFF)
    assert last_numbers(off.balancer(), 1) == "1"
    on = flipped(off, build.PREFER_ZONE)
    assert last_numbers(on.balancer(), 2) == "23"
    assert last_numbers(flipped(on, ZONES_OFF).balancer(), 2) == "41"


def test_a_policy_of_a_route_has_its_own_balancer_and_leaves_the_backends_alone() -> None:
    runtime = runtime_of("ab")
    assert runtime.balancer(None) is runtime.balancer(build.PREFER_ZONE)
    assert last_numbers(runtime.balancer(ZONES_OFF), 2) == "12"
    assert last_numbers(runtime.balancer(), 2) == "11"


def test_turns_under_a_policy_of_a_route_go_on_across_a_change() -> None:
    before = runtime_of("aab")
    assert last_numbers(before.balancer(ZONES_OFF), 1) == "1"
    backend = build.backend(of=build.endpoints("aabb"), zone_policy=build.PREFER_ZONE)
    after = before.with_backend(backend, build.own_zone("zone-a"))
    assert last_numbers(after.balancer(ZONES_OFF), 4) == "2314"


def test_turns_go_on_across_changes_that_nobody_asked_between() -> None:
    runtime = runtime_of("aab", policy=ZONES_OFF)
    assert last_numbers(runtime.balancer(), 1) == "1"
    assert last_numbers(runtime.balancer(build.PREFER_ZONE), 1) == "1"
    for zones in ("aabb", "aabbb"):
        backend = build.backend(of=build.endpoints(zones), zone_policy=ZONES_OFF)
        runtime = runtime.with_backend(backend, build.own_zone("zone-a"))
    assert last_numbers(runtime.balancer(), 5) == "23145"
    assert last_numbers(runtime.balancer(build.PREFER_ZONE), 2) == "21"


def test_policies_that_are_no_longer_asked_for_are_forgotten_across_changes() -> None:
    def turn_after(policies: int) -> str:
        runtime, own_zone = runtime_of("aaa"), build.own_zone("zone-a")
        last_numbers(runtime.balancer(ZONES_OFF), 1)
        for minimum in range(1, 1 + policies):
            runtime.balancer(ZonePolicy(ZonePolicyName.PREFER_ZONE, min_endpoints=1 + minimum))
            endpoints = build.endpoints("aaa" + "b" * minimum)
            runtime = runtime.with_backend(build.backend(of=endpoints, zone_policy=build.PREFER_ZONE), own_zone)
        return last_numbers(runtime.balancer(ZONES_OFF), 1)

    assert (turn_after(2), turn_after(100)) == ("2", "1")


def test_policies_that_are_no_longer_asked_for_are_forgotten() -> None:
    runtime = runtime_of("ab")
    oldest = runtime.balancer()
    for minimum in range(1, 100):
        runtime.balancer(ZonePolicy(ZonePolicyName.PREFER_ZONE, min_endpoints=1 + minimum))
    assert runtime.balancer() is not oldest


STAYS = ZonePolicy(ZonePolicyName.PREFER_ZONE, asked_evacuation=ZoneEvacuation.OFF)


def test_a_policy_to_which_no_route_leads_any_more_leaves_no_zone_until_a_route_does() -> None:
    runtime = runtime_of("ab")
    runtime.balancer()
    assert (runtime.plans.leaves_zones, runtime.evacuation.is_on) == (True, True)
    runtime.plans.reach({None}, {STAYS})
    runtime.balancer(STAYS)
    assert (runtime.plans.leaves_zones, runtime.evacuation.is_on) == (False, False)
    runtime.plans.reach({STAYS}, {STAYS, None})
    assert (runtime.plans.leaves_zones, runtime.evacuation.is_on) == (True, True)


def test_it_stays_so_after_changes_of_the_backend_and_of_its_own_policy() -> None:
    runtime, own_zone = runtime_of("ab"), build.own_zone("zone-a")
    runtime.balancer()
    runtime.plans.reach({None}, {STAYS})
    for zones, policy in (("abb", build.PREFER_ZONE), ("abb", ZonePolicy(ZonePolicyName.ADAPTIVE))):
        runtime = runtime.with_backend(build.backend(of=build.endpoints(zones), zone_policy=policy), own_zone)
        runtime.balancer(STAYS)
        assert not runtime.plans.leaves_zones


def test_what_a_controller_says_counts_while_routes_lead_to_its_policy() -> None:
    adaptive = ZonePolicy(ZonePolicyName.ADAPTIVE)
    runtime = runtime_of("ab", policy=adaptive)
    runtime.balancer()
    assert len(runtime.plans.controllers()) == 1
    runtime.plans.reach({None}, {STAYS})
    assert runtime.plans.controllers() == ()
    after = runtime.with_backend(
        build.backend(of=build.endpoints("abb"), zone_policy=adaptive), build.own_zone("zone-a")
    )
    assert after.plans.controllers() == ()


def test_what_is_known_of_zones_stays_where_another_policy_judges_them_too() -> None:
    tries = ZonePolicy(ZonePolicyName.PREFER_ZONE, asked_evacuation=ZoneEvacuation.DRY_RUN)
    runtime = runtime_of("ab")
    runtime.balancer()
    for now in (1.0, 1.2):
        runtime.evacuation.ended("zone-a", failed=True, seconds=0.01, now=now)
    before = runtime.evacuation.states(1.2)
    runtime.plans.reach({None}, {tries})
    assert (runtime.plans.leaves_zones, runtime.evacuation.is_on) == (False, True)
    assert runtime.evacuation.states(1.2) == before
    assert before[0].own.failed > 0
