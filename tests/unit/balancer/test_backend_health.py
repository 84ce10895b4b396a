"""What health and load do to picks: pass over, spill, probe, panic; and what outlasts a change of the backend."""

from __future__ import annotations

import random
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.endpoints import Backend, Ejection, LoadBalancing
from balancer.model.zones import OwnZone, ZoneFacts
from balancer.picking.backend import BackendRuntime
from balancer.picking.members import Pick
from balancer.picking.outcomes import Outcome
from balancer.zones.reasons import Reason
from balancer.zones.verdicts import Surroundings
from tests import builders as build
from tests.unit.balancer import strategies

ONE_ERROR = Ejection(consecutive_errors=1, seconds=10.0, max_percent=100)


def runtime_of(zones: str, **changes: object) -> BackendRuntime:
    """A letter is a ready endpoint in that zone; one error ejects and all may be ejected."""
    backend = build.backend(of=build.endpoints(zones), zone_policy=build.PREFER_ZONE)
    backend = msgspec.structs.replace(backend, **{"ejection": ONE_ERROR, **changes})
    return BackendRuntime.fresh(backend, own_zone=build.own_zone("zone-a"), random_below=random.Random(1).randrange)


def eject(runtime: BackendRuntime, *numbers: int, now: float = 0.0) -> None:
    for number in numbers:
        health = runtime.members[f"10.0.0.{number}:80"].health
        assert runtime.health.report(health, Outcome.UNREACHED, now=now)


def must(pick: Pick | None) -> Pick:
    assert pick is not None
    return pick


def picks(runtime: BackendRuntime, count: int, now: float = 1.0) -> list[Pick]:
    return [must(runtime.balancer().pick((), now)) for _ in range(count)]


def shares(runtime: BackendRuntime, count: int, now: float = 1.0) -> dict[str, int]:
    """How often each endpoint, by the last digit of its address, is picked."""
    return dict(Counter(pick.endpoint.address[-1] for pick in picks(runtime, count, now)))


def test_an_ejected_endpoint_gets_nothing_and_the_others_of_the_zone_take_turns() -> None:
    runtime = runtime_of("aaab")
    eject(runtime, 2)
    assert shares(runtime, 10) == {"1": 5, "3": 5}
    assert {pick.reason for pick in picks(runtime, 4)} == {Reason.ZONE_LOCAL}


def test_a_zone_with_too_little_that_is_well_spills_to_what_is_well_anywhere() -> None:
    runtime = runtime_of("aaabbb")
    eject(runtime, 1, 2)
    assert shares(runtime, 8) == {"3": 2, "4": 2, "5": 2, "6": 2}
    assert {pick.reason for pick in picks(runtime, 4)} == {Reason.SPILL_HEALTH}


def test_when_too_little_is_well_anywhere_health_is_ignored() -> None:
    runtime = runtime_of("aab")
    eject(runtime, 1, 2, 3)
    assert shares(runtime, 9) == {"1": 3, "2": 3, "3": 3}
    assert {pick.reason for pick in picks(runtime, 3)} == {Reason.PANIC}


def test_one_request_probes_an_endpoint_whose_time_is_over() -> None:
    runtime = runtime_of("aaa")
    eject(runtime, 2)
    probe, *others = picks(runtime, 5, now=10.0)
    assert (probe.probe, probe.endpoint.address, probe.reason) == (True, "10.0.0.2", Reason.ZONE_LOCAL)
    assert not any(pick.probe or pick.endpoint == probe.endpoint for pick in others)
    runtime.report(probe, Outcome.ANSWERED, now=10.1, seconds=0.1)
    assert shares(runtime, 9, now=10.2) == {"1": 3, "2": 3, "3": 3}


def test_a_retry_is_no_probe() -> None:
    runtime = runtime_of("aa")
    eject(runtime, 2)
    assert runtime.balancer().pick([runtime.members["10.0.0.1:80"]], 10.0) is None


def test_no_probe_leaves_the_zone() -> None:
    runtime = runtime_of("aab")
    eject(runtime, 3)
    assert not any(pick.probe for pick in picks(runtime, 5, now=10.0))


def test_an_ejection_outlasts_a_change_of_the_backend_and_ends_with_its_endpoint() -> None:
    runtime = runtime_of("aaa")
    eject(runtime, 2)
    grown = msgspec.structs.replace(runtime.backend, endpoints=build.endpoints("aaaa"))
    after = runtime.with_backend(grown, build.own_zone("zone-a"))
    assert shares(after, 6) == {"1": 2, "3": 2, "4": 2}
    shrunk = msgspec.structs.replace(runtime.backend, endpoints=build.endpoints("a"))
    alone = after.with_backend(shrunk, build.own_zone("zone-a"))
    assert alone.health.impaired  # requests may still use the one before
    alone.settle(Surroundings(build.own_zone("zone-a"), ZoneFacts()))
    assert not alone.health.impaired
    again = alone.with_backend(grown, build.own_zone("zone-a"))
    assert shares(again, 4) == dict.fromkeys("1234", 1)


def test_a_full_endpoint_is_passed_over() -> None:
    runtime = runtime_of("aaa", max_concurrency_per_endpoint=2)
    runtime.members["10.0.0.2:80"].in_flight = 2
    assert shares(runtime, 4) == {"1": 2, "3": 2}


def test_a_full_zone_lets_a_request_leave_for_the_load() -> None:
    runtime = runtime_of("ab", max_concurrency_per_endpoint=1)
    runtime.members["10.0.0.1:80"].in_flight = 1
    (pick,) = picks(runtime, 1)
    assert (pick.to_zone, pick.reason) == ("zone-b", Reason.SPILL_LOAD)


@pytest.mark.parametrize("load_balancing", LoadBalancing)
def test_when_all_are_full_there_is_no_pick(load_balancing: LoadBalancing) -> None:
    runtime = runtime_of("aab", max_concurrency_per_endpoint=1, load_balancing=load_balancing)
    for member in runtime.members.values():
        member.in_flight = 1
    assert runtime.balancer().pick((), 0.0) is None


def test_a_backend_is_full_at_its_limit() -> None:
    for limit, in_flight, expected in ((2, 1, False), (2, 2, True), (0, 100, False)):
        runtime = runtime_of("a", max_concurrency=limit)
        runtime.load.in_flight = in_flight
        assert runtime.is_full is expected


@pytest.mark.parametrize("load_balancing", [LoadBalancing.LEAST_REQUEST, LoadBalancing.EWMA])
def test_of_two_the_less_busy_is_taken_within_the_zone(load_balancing: LoadBalancing) -> None:
    runtime = runtime_of("aaab", load_balancing=load_balancing)
    runtime.members["10.0.0.2:80"].in_flight = 5
    assert shares(runtime, 100).keys() == {"1", "3"}


def test_ewma_avoids_the_slow_and_starts_newcomers_at_the_average() -> None:
    runtime = runtime_of("aaa", load_balancing=LoadBalancing.EWMA)
    made = {pick.endpoint.address[-1]: pick for pick in picks(runtime, 100)}
    for number, seconds in (("1", 0.1), ("2", 5.0)):
        runtime.report(made[number], Outcome.ANSWERED, now=1.0, seconds=seconds)
    share = shares(runtime, 600)
    assert "2" not in share
    assert share["1"] > share["3"] > 0  # 0.1 s before 2.55 s before 5 s


def test_to_fail_quickly_makes_nobody_look_quick() -> None:
    runtime = runtime_of("a", load_balancing=LoadBalancing.EWMA, ejection=Ejection(consecutive_errors=0))
    (pick,) = picks(runtime, 1)
    for outcome, seconds, expected in (
        (Outcome.UNREACHED, 0.001, None),
        (Outcome.ANSWERED, 0.2, 0.2),
        (Outcome.UNREACHED, 0.001, 0.2),
        (Outcome.UNREACHED, 5.0, 5.0),
    ):
        runtime.report(pick, outcome, now=1.0, seconds=seconds)
        latency = pick.member.latency
        assert (latency.at(1.0) if latency is not None else None) == expected


@given(
    strategies.backends(),
    strategies.own_zones,
    st.sampled_from(LoadBalancing),
    st.lists(st.tuples(st.integers(0, 7), st.sampled_from(Outcome)), max_size=30),
)
def test_no_pick_is_empty_while_any_endpoint_is_ready(
    backend: Backend, own_zone: OwnZone, load_balancing: LoadBalancing, reports: list[tuple[int, Outcome]]
) -> None:
    backend = msgspec.structs.replace(backend, ejection=ONE_ERROR, load_balancing=load_balancing)
    runtime = BackendRuntime.fresh(backend, own_zone=own_zone, random_below=random.Random(1).randrange)
    members = list(runtime.members.values())
    for now, (number, outcome) in enumerate(reports):
        if members:
            runtime.health.report(members[number % len(members)].health, outcome, now=float(now))
        pick = runtime.balancer().pick((), float(now))
        assert (pick is not None) == bool(runtime.balancer().pools.general)
        if pick is not None and not pick.probe and pick.reason is not Reason.PANIC:
            assert pick.member.health.is_well or pick.reason is Reason.TERMINATING_LAST_RESORT
