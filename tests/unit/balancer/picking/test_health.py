"""Failing in a row ejects, one probe brings back, and there is a cap on what may be missing."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from balancer.model.endpoints import Ejection
from balancer.picking.health import BackendHealth, Cause, Change, EndpointHealth, State, cause_of
from balancer.picking.outcomes import Outcome

RULES = Ejection(consecutive_errors=3, seconds=10.0)


class Some:
    """Endpoints and their health."""

    def __init__(self, count: int = 3, rules: Ejection = RULES) -> None:
        self.endpoints = [EndpointHealth() for _ in range(count)]
        self.health = BackendHealth(rules, self.endpoints)

    def fail(
        self, number: int = 0, *, times: int = 3, now: float = 0.0, outcome: Outcome = Outcome.FAILED
    ) -> Change | None:
        """What the last of so many failures changed."""
        return [self.health.report(self.endpoints[number], outcome, now=now) for _ in range(times)][-1]

    def probe(self, outcome: Outcome, *, now: float) -> Change | None:
        assert self.health.take_probe(self.endpoints[0], now)
        return self.health.report(self.endpoints[0], outcome, now=now, probe=True)


def test_failures_in_a_row_eject_and_only_the_last_of_them_says_so() -> None:
    some = Some()
    assert not some.fail(times=2)
    assert not some.health.impaired
    assert some.fail(times=1) is Change.EJECTED
    assert [endpoint.is_well for endpoint in some.endpoints] == [False, True, True]
    assert some.health.impaired == {some.endpoints[0]}


@pytest.mark.parametrize("outcome", [Outcome.ANSWERED, Outcome.ANSWERED_5XX])
def test_an_answer_in_between_begins_the_count_anew(outcome: Outcome) -> None:
    some = Some()
    some.fail(times=2)
    some.health.report(some.endpoints[0], outcome, now=0.0)
    assert not some.fail(times=2)


def test_what_tells_nothing_neither_counts_nor_begins_anew() -> None:
    some = Some()
    some.fail(times=2)
    assert not some.fail(times=5, outcome=Outcome.UNKNOWN)
    assert some.fail(times=1)


def test_5xx_answers_eject_only_where_they_are_said_to() -> None:
    assert not Some().fail(outcome=Outcome.ANSWERED_5XX, times=100)
    assert Some(rules=Ejection(consecutive_errors=3, on_5xx=True)).fail(outcome=Outcome.ANSWERED_5XX)


def test_zero_errors_or_zero_percent_never_eject() -> None:
    assert not Some(rules=Ejection(consecutive_errors=0)).fail(times=100)
    assert not Some(rules=Ejection(consecutive_errors=3, max_percent=0)).fail(times=100)


@pytest.mark.parametrize(("count", "percent", "most"), [(1, 50, 0), (1, 100, 1), (2, 10, 1), (3, 50, 1), (10, 50, 5)])
def test_the_cap_counts_the_whole_backend_and_leaves_one_to_eject_of_several(
    count: int, percent: int, most: int
) -> None:
    some = Some(count, Ejection(consecutive_errors=3, max_percent=percent))
    for number in range(count):
        some.fail(number, times=10)
    assert some.health.ejected() == most


def test_nobody_probes_before_the_time_and_one_afterwards() -> None:
    some = Some()
    some.fail(now=100.0)
    endpoint = some.endpoints[0]
    assert not some.health.take_probe(endpoint, 109.9)
    assert some.health.take_probe(endpoint, 110.0)
    assert not some.health.take_probe(endpoint, 110.0)
    assert not some.health.take_probe(some.endpoints[1], 110.0)


def test_a_probe_that_is_answered_brings_the_endpoint_back_at_once() -> None:
    some = Some()
    some.fail()
    assert some.probe(Outcome.ANSWERED, now=10.0) is Change.RETURNED
    assert some.endpoints[0].is_well
    assert not some.health.impaired
    assert not some.fail(times=2, now=11.0)  # it begins with a clean slate


def test_each_failed_probe_makes_it_longer_up_to_three_times() -> None:
    some = Some()
    some.fail()
    for now, until in ((10.0, 30.0), (30.0, 60.0), (60.0, 90.0)):
        assert some.probe(Outcome.FAILED, now=now) is Change.EJECTED_AGAIN
        assert some.endpoints[0].ejected_until == until


def test_a_probe_that_tells_nothing_or_takes_too_long_leaves_it_to_another() -> None:
    some = Some()
    some.fail()
    some.probe(Outcome.UNKNOWN, now=10.0)
    assert some.health.take_probe(some.endpoints[0], 10.0)
    assert not some.health.take_probe(some.endpoints[0], 19.9)
    assert some.health.take_probe(some.endpoints[0], 20.0)


def test_what_was_on_its_way_before_neither_ends_nor_prolongs_an_ejection() -> None:
    some = Some()
    some.fail()
    some.health.report(some.endpoints[0], Outcome.ANSWERED, now=5.0)
    assert not some.fail(times=10, now=5.0)
    assert some.endpoints[0].ejected_until == 10.0


def test_quiet_times_forgive_what_was() -> None:
    some = Some()
    some.fail()
    some.probe(Outcome.FAILED, now=10.0)
    some.probe(Outcome.ANSWERED, now=30.0)
    some.fail(now=40.0)
    assert some.endpoints[0].ejected_until == 70.0  # the third time within a minute
    some.probe(Outcome.ANSWERED, now=70.0)
    some.fail(now=1000.0)
    assert some.endpoints[0].ejected_until == 1010.0


def test_checks_need_a_row_of_failures_and_one_success() -> None:
    some = Some()
    endpoint = some.endpoints[0]
    fails, passes = Change.FAILS_CHECKS, Change.PASSES_CHECKS
    for passed, change in ((False, None), (True, None), (False, None), (False, fails), (False, None), (True, passes)):
        was_well = endpoint.is_well
        assert some.health.checked(endpoint, passed=passed, threshold=2) is change
        well = endpoint.is_well
        assert well is (was_well if change is None else change is passes)
        assert (endpoint in some.health.impaired) is not well


def test_no_request_probes_what_its_checks_say_is_unwell() -> None:
    some = Some()
    some.fail()
    some.health.checked(some.endpoints[0], passed=False, threshold=1)
    assert not some.health.take_probe(some.endpoints[0], 10.0)


def test_every_change_has_a_version_of_its_own() -> None:
    some = Some()
    versions = [some.health.version]
    some.fail()
    versions.append(some.health.version)
    some.probe(Outcome.ANSWERED, now=10.0)
    versions.append(some.health.version)
    assert versions == sorted(set(versions))


def test_an_endpoint_that_left_is_forgotten_for_good() -> None:
    some = Some()
    some.fail()
    some.health.follow(RULES, some.endpoints[1:], checked=False)
    some.fail(times=10)
    assert not some.health.impaired


def test_an_endpoint_that_stays_keeps_its_ejection_and_loses_checks_that_are_gone() -> None:
    some = Some()
    some.fail(0)
    some.health.checked(some.endpoints[1], passed=False, threshold=1)
    some.health.follow(RULES, some.endpoints, checked=False)
    assert some.health.impaired == {some.endpoints[0]}


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(Outcome), st.floats(0, 5)), max_size=80))
def test_whatever_happens_half_are_left_and_what_is_impaired_is_what_is_not_well(
    reports: list[tuple[int, Outcome, float]],
) -> None:
    some, now = Some(6, Ejection(consecutive_errors=1, seconds=3.0)), 0.0
    for number, outcome, passing in reports:
        now += passing
        endpoint = some.endpoints[number]
        some.health.report(endpoint, outcome, now=now, probe=some.health.take_probe(endpoint, now))
        assert some.health.ejected() <= 3
        assert some.health.impaired == {each for each in some.endpoints if not each.is_well}


class Turns:
    """Endpoints that take turns, and the share of failures of each; two clients ask by default."""

    def __init__(self, *shares: float, rules: Ejection | None = None, seed: int = 1) -> None:
        self.shares = list(shares)
        self.endpoints = [EndpointHealth() for _ in shares]
        self.health = BackendHealth(rules or Ejection(consecutive_errors=0), self.endpoints)
        self.now = 0.0
        self.chance = random.Random(seed)
        self.changes: list[tuple[int, Change]] = []
        self._turn = 0

    def serve(self, requests: int, *, rate: float = 200.0, clients: int = 2) -> None:
        """Whoever is ejected gets a request only to probe it, as a balancer does it."""
        for number in range(requests):
            self.now += 1.0 / rate
            for place, each in enumerate(self.endpoints):
                if self.health.take_probe(each, self.now):
                    self._ask(place, Client(f"10.0.0.{number % clients}"), probe=True)
            well = [place for place, each in enumerate(self.endpoints) if each.is_well]
            self._turn += 1
            self._ask(well[self._turn % len(well)], Client(f"10.0.0.{self.chance.randrange(clients)}"))

    def attack(self, place: int, client: Client, requests: int) -> None:
        """One client makes one endpoint fail."""
        for _ in range(requests):
            self.report(place, Outcome.ANSWERED_5XX, client)

    def report(self, place: int, outcome: Outcome, client: Client, *, probe: bool = False) -> None:
        change = self.health.report(self.endpoints[place], outcome, self.now, probe, client)
        if change is not None:
            self.changes.append((place, change))

    def _ask(self, place: int, client: Client, *, probe: bool = False) -> None:
        fails = self.chance.random() < self.shares[place]
        self.report(place, Outcome.ANSWERED_5XX if fails else Outcome.ANSWERED, client, probe=probe)

    @property
    def states(self) -> list[State]:
        return [each.state for each in self.endpoints]

    @property
    def ejected(self) -> set[int]:
        return {place for place, state in enumerate(self.states) if state is State.EJECTED}


@dataclass
class Client:
    client: str
    pause_seconds: float = 0.0


@pytest.mark.parametrize("share", [0.3, 0.5, 1.0])
@pytest.mark.parametrize("clients", [1, 2, 40])
def test_who_fails_far_more_often_than_the_others_is_ejected_within_two_seconds(share: float, clients: int) -> None:
    turns = Turns(share, 0.0)
    turns.serve(400, clients=clients)
    assert turns.changes[0] == (0, Change.EJECTED)
    why = turns.endpoints[0].why
    assert why is not None and why.cause is Cause.SHARE


def test_it_is_ejected_at_once_though_it_served_well_for_an_hour() -> None:
    turns = Turns(0.02, 0.02)
    turns.serve(2000)
    turns.shares[0] = 1.0
    turns.serve(400)
    assert turns.ejected == {0}


def test_a_probe_decides_and_the_endpoint_begins_anew() -> None:
    turns = Turns(1.0, 0.0, 0.0)
    turns.serve(400)
    turns.serve(4400)  # 22 s: the probe after 10 s fails
    assert turns.changes == [(0, Change.EJECTED), (0, Change.EJECTED_AGAIN)]
    turns.shares[0] = 0.0
    turns.serve(4400)
    assert turns.changes[2:] == [(0, Change.RETURNED)]
    assert turns.ejected == set()
    assert turns.endpoints[0].burden(turns.now) == 0.0


@given(
    st.integers(2, 8),
    st.sampled_from([0.005, 0.02, 0.1, 0.4, 0.8, 1.0]),
    st.integers(1, 30),
    st.integers(0, 10_000),
)
@settings(max_examples=30)
def test_if_all_are_alike_nobody_is_ejected(count: int, share: float, clients: int, seed: int) -> None:
    turns = Turns(*([share] * count), seed=seed)
    turns.serve(2000, clients=clients)
    assert turns.changes == []


@given(st.lists(st.sampled_from([0.0, 0.3, 0.6, 1.0]), min_size=2, max_size=8), st.integers(0, 100))
def test_no_more_are_ejected_than_the_cap_allows(shares: list[float], percent: int) -> None:
    turns = Turns(*shares, rules=Ejection(consecutive_errors=0, max_percent=percent))
    for _ in range(10):
        turns.serve(200)
        assert len(turns.ejected) <= max(1 if percent else 0, len(shares) * percent // 100)


@given(st.floats(0.5, 1.0), st.integers(1, 5), st.integers(0, 100))
@settings(max_examples=20)
def test_who_recovers_is_back_within_a_minute(share: float, clients: int, seed: int) -> None:
    turns = Turns(share, 0.0, 0.0, seed=seed)
    turns.serve(2000, rate=100.0, clients=clients)
    turns.shares[0] = 0.0
    turns.serve(6000, rate=100.0, clients=clients)
    assert turns.ejected == set()
    before = turns.endpoints[0].answers
    turns.serve(300, clients=clients)
    assert turns.endpoints[0].answers == before + 100


def test_one_client_cannot_have_an_endpoint_ejected_nor_avoided_while_others_ask_it() -> None:
    turns = Turns(0.0, 0.0)
    attacker = Client("203.0.113.9")
    for _ in range(100):
        turns.serve(10, clients=20)
        turns.attack(0, attacker, 100)
    assert turns.changes == []
    assert turns.endpoints[0].burden(turns.now) == 0.0


def test_a_client_that_makes_all_endpoints_fail_alike_has_none_ejected() -> None:
    turns = Turns(0.0, 0.0, 0.0)
    attacker = Client("203.0.113.9")
    for round_ in range(300):
        turns.serve(2, clients=1)
        turns.attack(round_ % 3, attacker, 1)
    assert turns.changes == []


def test_ipv6_addresses_of_one_network_are_one_client() -> None:
    turns = Turns(0.0, 0.0)
    for number in range(100):
        turns.serve(10, clients=20)
        for host in range(50):
            turns.attack(0, Client(f"2001:db8::{number:x}:{host:x}"), 1)
    assert turns.changes == []


@pytest.mark.parametrize(("asked", "seconds"), [(7.0, 7.0), (3600.0, 30.0)])
def test_retry_after_is_a_pause_and_a_long_one_is_shortened(asked: float, seconds: float) -> None:
    turns, client = Turns(0.0, 0.0), Client("10.0.0.0", asked)
    turns.report(0, Outcome.ANSWERED_5XX, client)
    assert not turns.ejected, "one answer is no evidence"
    turns.serve(40, clients=1)
    for _ in range(10):
        turns.report(0, Outcome.ANSWERED_5XX, client)
    assert not turns.ejected, "it answers others well"
    for number in range(400):
        turns.now += 0.01
        turns.report(number % 2, Outcome.ANSWERED_5XX, client)
    assert not turns.ejected, "all are alike"

    turns = Turns(0.0, 0.0)
    turns.report(0, Outcome.ANSWERED_5XX, client)
    turns.now += 0.1
    turns.report(1, Outcome.ANSWERED, client)
    turns.report(0, Outcome.ANSWERED_5XX, client)
    endpoint = turns.endpoints[0]
    assert endpoint.why is not None and endpoint.why.cause is Cause.PAUSE
    assert endpoint.ejected_until == pytest.approx(turns.now + seconds)
    assert "asked for a pause" in cause_of(endpoint)
    for _ in range(100):
        turns.now += 0.1
        turns.report(1, Outcome.ANSWERED_5XX, client)
    assert turns.ejected == {0}, "the last one is never paused"


def test_zero_percent_never_compares_and_ignores_pauses() -> None:
    turns = Turns(1.0, 0.0, rules=Ejection(consecutive_errors=0, failure_percent=0))
    turns.serve(1000)
    turns.report(0, Outcome.ANSWERED_5XX, Client("10.0.0.1", 5.0))
    assert turns.changes == []


def test_a_passed_check_wipes_the_slate() -> None:
    turns = Turns(0.0, 0.0, rules=Ejection(consecutive_errors=0, failure_percent=0))
    turns.report(0, Outcome.ANSWERED_5XX, Client("10.0.0.1"))
    endpoint = turns.endpoints[0]
    assert turns.health.checked(endpoint, passed=False, threshold=1) is Change.FAILS_CHECKS
    assert turns.states == [State.FAILS_CHECKS, State.WELL]
    assert turns.health.checked(endpoint, passed=True, threshold=1) is Change.PASSES_CHECKS
    assert turns.states == [State.WELL, State.WELL]
    assert endpoint.burden(turns.now) == 0.0


def test_a_row_is_broken_by_a_good_answer_however_long_ago_the_failures_were() -> None:
    some = Some()
    some.fail(times=2)
    some.fail(1, times=1, now=200.0)  # the failures of the first have faded, and it is no longer watched
    assert not some.endpoints[0].is_watched
    some.health.report(some.endpoints[0], Outcome.ANSWERED, now=201.0)
    assert not some.fail(times=2, now=202.0)
    assert some.fail(times=1, now=203.0)


def test_what_ejected_it_is_told() -> None:
    turns = Turns(1.0, 0.0)
    turns.serve(400)
    assert cause_of(turns.endpoints[0]).startswith("failed in 100% of about ")
    some = Some()
    some.fail()
    assert cause_of(some.endpoints[0]) == "failed too often in a row"
