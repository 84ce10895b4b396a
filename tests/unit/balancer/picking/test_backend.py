"""Picking: zonal first, fair, never empty while anything is left; and what outlasts a change of the backend."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.endpoints import Backend, Endpoint
from balancer.model.zones import ZONES_OFF, OwnZone, Zone, ZoneFacts, ZonePolicy, ZonePolicyName, ZonePrices
from balancer.picking.backend import BackendRuntime
from balancer.picking.balancers import Balancer
from balancer.picking.members import Member, Pick, label_of
from balancer.picking.outcomes import Outcome
from balancer.zones.locality import Locality
from balancer.zones.reasons import Reason
from balancer.zones.verdicts import Surroundings
from tests import builders as build
from tests.unit.balancer import strategies
from tests.unit.balancer.picking.runtimes import fresh, last_numbers, must, runtime_of


def walk(balancer: Balancer) -> list[Pick]:
    """The picks of a request whose every attempt fails."""
    picks: list[Pick] = []
    while (pick := balancer.pick([pick.member for pick in picks])) is not None:
        picks.append(pick)
    return picks


def test_a_pick_says_where_it_leads_and_why() -> None:
    pick = must(runtime_of("ab").balancer().pick())
    assert (pick.member.label, pick.endpoint.address) == ("10.0.0.1:80", "10.0.0.1")
    assert (pick.to_zone, pick.locality, pick.reason) == ("zone-a", Locality.LOCAL, Reason.ZONE_LOCAL)


def test_an_unknown_zone_has_a_name_of_its_own() -> None:
    pick = must(runtime_of("-").balancer().pick())
    assert (pick.to_zone, pick.locality, pick.reason) == ("unknown", Locality.UNKNOWN, Reason.ZONE_EMPTY)


def test_in_zonal_mode_the_endpoints_of_the_own_zone_take_turns() -> None:
    assert last_numbers(runtime_of("abab").balancer(), 4) == "1313"


def test_in_general_mode_all_take_turns() -> None:
    assert last_numbers(runtime_of("bcb").balancer(), 6) == "123123"


def test_a_rotation_starts_where_chance_says() -> None:
    backend = build.backend(of=build.endpoints("aaab"), zone_policy=build.PREFER_ZONE)
    runtime = BackendRuntime.fresh(backend, own_zone=build.own_zone("zone-a"), random_below=lambda below: below - 1)
    assert last_numbers(runtime.balancer(), 3) == "312"


@pytest.mark.parametrize(
    ("zones", "policy"), [("aaabb", build.PREFER_ZONE), ("aaabb", ZONES_OFF), ("bcb", build.PREFER_ZONE)]
)
def test_over_all_that_chance_may_say_each_endpoint_is_first_equally_often(zones: str, policy: ZonePolicy) -> None:
    backend = build.backend(of=build.endpoints(zones), zone_policy=policy)

    def balancer_from(start: int) -> Balancer:
        own_zone = build.own_zone("zone-a")
        return BackendRuntime.fresh(backend, own_zone=own_zone, random_below=lambda below: start % below).balancer()

    pools = balancer_from(0).pools
    serving = pools.zonal if pools.zonal_mode else pools.general
    firsts = [must(balancer_from(start).pick()).endpoint for start in range(len(serving))]
    assert sorted(firsts) == sorted(serving)


def test_a_pool_that_fills_again_starts_where_chance_says() -> None:
    def last(below: int) -> int:
        return below - 1

    remote = build.backend(of=build.endpoints("bbb"), zone_policy=build.PREFER_ZONE)
    runtime = BackendRuntime.fresh(remote, own_zone=build.own_zone("zone-a"), random_below=last)
    runtime.balancer()
    local = build.backend(of=build.endpoints("aaa"), zone_policy=build.PREFER_ZONE)
    assert last_numbers(runtime.with_backend(local, build.own_zone("zone-a")).balancer(), 3) == "312"


def test_a_pick_is_made_beforehand() -> None:
    balancer = runtime_of("a").balancer()
    assert balancer.pick() is balancer.pick()


def test_a_retry_stays_in_the_zone_as_long_as_it_can_and_then_leaves_it_with_its_own_reason() -> None:
    picks = walk(runtime_of("aabc").balancer())
    assert [pick.to_zone for pick in picks[:2]] == ["zone-a", "zone-a"]
    assert {pick.to_zone for pick in picks[2:]} == {"zone-b", "zone-c"}
    assert [pick.reason for pick in picks] == [Reason.ZONE_LOCAL] * 2 + [Reason.RETRY_OTHER_ZONE] * 2


def test_a_retry_in_general_mode_keeps_the_reason_of_the_mode() -> None:
    assert {pick.reason for pick in walk(runtime_of("bc").balancer())} == {Reason.ZONE_EMPTY}


def test_a_backend_without_endpoints_picks_nothing() -> None:
    balancer = runtime_of("").balancer()
    assert balancer.pick() is None
    assert balancer.pick([Member(build.endpoint())]) is None


@given(strategies.backends(), strategies.own_zones)
def test_a_pick_comes_back_empty_only_if_nothing_can_serve(backend: Backend, own_zone: OwnZone) -> None:
    pick = fresh(backend, own_zone).balancer().pick()
    if any(endpoint.ready for endpoint in backend.endpoints):
        assert pick is not None and pick.endpoint.ready
    elif any(endpoint.serving_terminating for endpoint in backend.endpoints):
        assert pick is not None and pick.reason is Reason.TERMINATING_LAST_RESORT
    else:
        assert pick is None


@given(strategies.backends(), strategies.own_zones)
def test_the_mode_is_decided_once_and_holds_for_every_first_attempt(backend: Backend, own_zone: OwnZone) -> None:
    balancer = fresh(backend, own_zone).balancer()
    for pick in (balancer.pick() for _ in range(12)):
        if pick is None:
            break
        assert pick.reason is balancer.pools.reason
        assert balancer.pools.zonal_mode == (pick.reason is Reason.ZONE_LOCAL)
        assert not balancer.pools.zonal_mode or pick.locality is Locality.LOCAL


@given(strategies.backends(), strategies.own_zones)
def test_retries_try_everything_that_can_serve_once_and_the_chosen_pool_first(
    backend: Backend, own_zone: OwnZone
) -> None:
    balancer = fresh(backend, own_zone).balancer()
    picks = walk(balancer)
    pools = balancer.pools
    assert sorted(pick.endpoint.address for pick in picks) == sorted(item.address for item in pools.general)
    serving = pools.zonal if pools.zonal_mode else pools.general
    reasons = [pools.reason] * len(serving) + [Reason.RETRY_OTHER_ZONE] * (len(pools.general) - len(serving))
    assert [pick.reason for pick in picks] == reasons


@given(strategies.any_endpoints, strategies.own_zones, st.integers(1, 3))
def test_with_the_flag_off_every_ready_endpoint_gets_its_share(
    endpoints: tuple[Endpoint, ...], own_zone: OwnZone, rounds: int
) -> None:
    ready = [endpoint for endpoint in endpoints if endpoint.ready]
    if not ready:
        return
    balancer = fresh(build.backend(of=endpoints, zone_policy=ZONES_OFF), own_zone).balancer()
    picks = [must(balancer.pick()) for _ in range(rounds * len(ready))]
    assert {pick.reason for pick in picks} == {Reason.OFF}
    assert Counter(pick.endpoint for pick in picks) == dict.fromkeys(ready, rounds)


@given(strategies.backends(), strategies.own_zones, st.integers(0, 20), st.randoms(use_true_random=False))
def test_picks_are_fair_over_any_window(
    backend: Backend, own_zone: OwnZone, skipped: int, chance: random.Random
) -> None:
    balancer = BackendRuntime.fresh(backend, own_zone=own_zone, random_below=chance.randrange).balancer()
    serving = balancer.pools.zonal if balancer.pools.zonal_mode else balancer.pools.general
    for _ in range(skipped):
        balancer.pick()
    picks = [must(balancer.pick()) for _ in range(2 * len(serving))]
    assert Counter(pick.endpoint for pick in picks) == dict.fromkeys(serving, 2)


def test_an_equal_backend_in_an_equal_zone_is_the_same_runtime() -> None:
    runtime = runtime_of("ab")
    again = build.backend(of=build.endpoints("ab"), zone_policy=build.PREFER_ZONE)
    assert runtime.with_backend(again, build.own_zone("zone-a")) is runtime


@pytest.mark.parametrize(
    ("policy", "replicas_matter", "cpu_matters"),
    [
        (build.PREFER_ZONE, False, False),
        (ZonePolicy(ZonePolicyName.PROPORTIONAL), True, False),
        (ZonePolicy(ZonePolicyName.ALLOCATE), False, True),
    ],
)
def test_facts_that_no_policy_in_use_goes_by_leave_the_runtime_as_it_is(
    policy: ZonePolicy, replicas_matter: bool, cpu_matters: bool
) -> None:
    own = build.own_zone("zone-a")
    runtime = runtime_of("ab", policy=policy)
    runtime.balancer()
    counts = ((Zone("zone-a"), 1), (Zone("zone-b"), 1))
    assert (runtime.with_backend(runtime.backend, own, ZoneFacts(cpu_milli=counts)) is not runtime) is cpu_matters
    runtime = runtime.with_backend(runtime.backend, own)
    assert (runtime.with_backend(runtime.backend, own, ZoneFacts(replicas=counts)) is not runtime) is replicas_matter


def test_prices_matter_to_every_policy() -> None:
    runtime = runtime_of("ab")
    dear = ZoneFacts(prices=ZonePrices(default=1.0))
    assert runtime.with_backend(runtime.backend, build.own_zone("zone-a"), dear) is not runtime


def test_a_policy_that_is_first_asked_for_later_goes_by_the_newest_facts() -> None:
    runtime = runtime_of("abb")
    runtime.balancer()
    replicas = ((Zone("zone-a"), 1), (Zone("zone-b"), 1))
    same = runtime.with_backend(runtime.backend, build.own_zone("zone-a"), ZoneFacts(replicas=replicas))
    assert same is runtime
    same.settle(Surroundings(build.own_zone("zone-a"), ZoneFacts(replicas=replicas)))
    proportional = ZonePolicy(ZonePolicyName.PROPORTIONAL, min_cluster_size=1)
    assert same.balancer(proportional).pools.zonal_mode


def test_a_member_outlasts_changes_of_its_backend_with_all_that_hangs_on_it() -> None:
    before = runtime_of("ab")
    pool = before.members["10.0.0.2:80"].pool = object()
    after = before.with_backend(build.backend(of=build.endpoints("aba")), build.own_zone("zone-a"))
    assert after.members["10.0.0.2:80"] is before.members["10.0.0.2:80"]
    assert after.members["10.0.0.2:80"].pool is pool
    assert list(after.members) == ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"]


def test_a_member_has_the_newest_endpoint_and_an_old_pick_its_own() -> None:
    before = runtime_of("a")
    pick = must(before.balancer().pick())
    before.with_backend(build.backend(of=build.endpoints("b")), build.own_zone("zone-a"))
    assert (pick.member.endpoint.zone, pick.endpoint.zone, pick.to_zone) == ("zone-b", "zone-a", "zone-a")


def test_the_runtime_before_a_change_goes_on_as_it_was() -> None:
    before = runtime_of("ab", policy=ZONES_OFF)
    assert last_numbers(before.balancer(), 1) == "1"
    after = before.with_backend(build.backend(of=build.endpoints("a")), build.own_zone("zone-a"))
    assert last_numbers(after.balancer(), 2) == "11"
    assert last_numbers(before.balancer(), 2) == "21"


def test_turns_go_on_across_a_change_of_the_endpoints() -> None:
    before = runtime_of("aaa")
    assert last_numbers(before.balancer(), 2) == "12"
    after = before.with_backend(
        build.backend(of=build.endpoints("aaaa"), zone_policy=build.PREFER_ZONE), build.own_zone("zone-a")
    )
    assert last_numbers(after.balancer(), 4) == "3124"


def test_a_new_own_zone_decides_anew() -> None:
    backend = build.backend(of=build.endpoints("ab"), zone_policy=build.PREFER_ZONE)
    unknown = fresh(backend, build.own_zone(None))
    assert must(unknown.balancer().pick()).reason is Reason.OWN_ZONE_UNKNOWN
    pick = must(unknown.with_backend(backend, build.own_zone("zone-b")).balancer().pick())
    assert (pick.to_zone, pick.reason) == ("zone-b", Reason.ZONE_LOCAL)


@given(st.lists(st.tuples(strategies.backends(), strategies.own_zones, st.integers(0, 9)), min_size=1, max_size=5))
def test_across_changes_nobody_is_served_twice_while_another_of_its_pool_waits(
    steps: list[tuple[Backend, OwnZone, int]],
) -> None:
    """The pools of one mode at a time: waiting counts from when an endpoint joined the pool that serves."""
    runtime = fresh(build.backend(), build.own_zone(None))
    runtime.balancer()
    waiting_since: dict[Member, int] = {}
    mode, now = False, 0
    for backend, own_zone, count in steps:
        runtime = runtime.with_backend(backend, own_zone)
        pools = runtime.balancer().pools
        serving = [runtime.members[label_of(item)] for item in (pools.zonal if pools.zonal_mode else pools.general)]
        now += 1
        past = waiting_since if pools.zonal_mode == mode else {}
        waiting_since = {member: past.get(member, now) for member in serving}
        known_past = pools.zonal_mode == mode or pools.zonal_mode
        mode = pools.zonal_mode
        for number in range(count if serving else 0):
            now += 1
            member = must(runtime.balancer().pick()).member
            if known_past or number >= len(serving):
                assert waiting_since[member] == min(waiting_since.values())
            waiting_since[member] = now


def test_whoever_answers_was_heard_also_with_an_error() -> None:
    runtime = runtime_of("ab")
    pick = must(runtime.balancer().pick())
    heard = []
    for now, outcome in enumerate(
        (Outcome.ANSWERED, Outcome.FAILED, Outcome.ANSWERED_5XX, Outcome.UNREACHED, Outcome.UNKNOWN, Outcome.ANSWERED),
        start=1,
    ):
        runtime.report(pick, outcome, float(now), 0.01)
        heard.append(pick.member.health.heard_at)
    assert heard == [1.0, 1.0, 3.0, 3.0, 3.0, 6.0]
