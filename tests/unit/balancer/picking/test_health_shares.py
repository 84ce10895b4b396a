"""Who fails far more often than the others is ejected; all who are alike stay, and one client ejects nobody."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.endpoints import Ejection
from balancer.picking.ejections import Cause, State, cause_of
from balancer.picking.endpoint_health import Change, EndpointHealth
from balancer.picking.health import BackendHealth
from balancer.picking.outcomes import Outcome
from tests.properties import examples
from tests.unit.balancer.picking.clients import Client, place_of

pytestmark = pytest.mark.large


class Turns:
    """Endpoints that take turns, and the share of failures of each; two clients ask by default."""

    def __init__(
        self,
        *shares: float,
        rules: Ejection | None = None,
        seed: int = 1,
        failure: Outcome = Outcome.ANSWERED_5XX,
    ) -> None:
        self.failure = failure
        self.shares = list(shares)
        self.endpoints = [EndpointHealth() for _ in shares]
        self.health = BackendHealth(rules or Ejection(consecutive_errors=0), self.endpoints, place_of)
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
        self.report(place, self.failure if fails else Outcome.ANSWERED, client, probe=probe)

    @property
    def states(self) -> list[State]:
        return [each.state for each in self.endpoints]

    @property
    def ejected(self) -> set[int]:
        return {place for place, state in enumerate(self.states) if state is State.EJECTED}


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
@examples(30)
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
@examples(20)
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


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.ANSWERED_5XX], ids=["breaks", "5xx"])
@pytest.mark.parametrize("clients", [1, 2, 5, 40])
@pytest.mark.parametrize("rate", [200.0, 2.0])
def test_a_client_that_is_counted_together_with_another_one_has_no_endpoint_ejected(
    outcome: Outcome, clients: int, rate: float
) -> None:
    """In every sixteenth process it has the place of a single other client, from which it differs by name only."""
    turns, attacker = Turns(0.0, 0.0, rules=Ejection()), Client("203.0.113.16")
    assert place_of(attacker.client.encode()) == place_of(b"10.0.0.0")
    turns.serve(10, rate=rate, clients=clients)
    for _ in range(100):
        for _ in range(20):
            turns.report(0, outcome, attacker)
        turns.serve(max(1, int(rate / 10)), rate=rate, clients=clients)
    assert turns.changes == []
    assert turns.endpoints[0].burden(turns.now) == 0.0


def test_two_clients_of_one_place_are_believed_if_both_meet_failures() -> None:
    turns = Turns(0.0, 0.0)
    for number in range(400):
        turns.now += 0.005
        client = Client(f"10.0.0.{number // 2 % 2 * 16}")
        place = number % 2
        if turns.endpoints[place].is_well:
            turns.report(place, Outcome.ANSWERED if place else Outcome.ANSWERED_5XX, client)
    assert turns.ejected == {0}


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
    assert "asked for a pause" in cause_of(endpoint.why)
    for _ in range(100):
        turns.now += 0.1
        turns.report(1, Outcome.ANSWERED_5XX, client)
    assert turns.ejected == {0}, "the last one is never paused"


def test_zero_percent_never_compares_and_ignores_pauses() -> None:
    turns = Turns(1.0, 0.0, rules=Ejection(consecutive_errors=0, failure_percent=0))
    turns.serve(1000)
    turns.report(0, Outcome.ANSWERED_5XX, Client("10.0.0.1", 5.0))
    assert turns.changes == []


@pytest.mark.parametrize(("percent", "errors", "is_back"), [(0, 5, True), (20, 0, False)])
def test_who_was_ejected_by_comparison_is_back_once_none_is_compared(percent: int, errors: int, is_back: bool) -> None:
    turns = Turns(1.0, 0.0)
    turns.serve(400)
    assert turns.ejected == {0}
    rules = Ejection(consecutive_errors=errors, failure_percent=percent)
    turns.health.follow(rules, turns.endpoints, checked=False)
    assert turns.ejected == (set() if is_back else {0})


def test_a_passed_check_wipes_the_slate() -> None:
    turns = Turns(0.0, 0.0, rules=Ejection(consecutive_errors=0, failure_percent=0))
    turns.report(0, Outcome.ANSWERED_5XX, Client("10.0.0.1"))
    endpoint = turns.endpoints[0]
    assert turns.health.checked(endpoint, passed=False, threshold=1) is Change.FAILS_CHECKS
    assert turns.states == [State.FAILS_CHECKS, State.WELL]
    assert turns.health.checked(endpoint, passed=True, threshold=1) is Change.PASSES_CHECKS
    assert turns.states == [State.WELL, State.WELL]
    assert endpoint.burden(turns.now) == 0.0


def test_what_ejected_it_is_told() -> None:
    turns = Turns(1.0, 0.0)
    turns.serve(400)
    assert cause_of(turns.endpoints[0].why).startswith("failed in 100% of about ")


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.ANSWERED_5XX], ids=["breaks", "5xx"])
@pytest.mark.parametrize("burst", [5, 8, 50])
def test_a_client_whose_requests_break_endpoints_takes_none_from_others(outcome: Outcome, burst: int) -> None:
    """Failures in a row at once, more of them than others have requests: a body that makes the process hang up."""
    turns = Turns(0.0, 0.0, 0.0, rules=Ejection(consecutive_errors=5, on_5xx=True))
    turns.serve(100, clients=4)
    for _ in range(40):
        for place in range(3):
            for _ in range(burst):
                turns.report(place, outcome, Client("10.0.9.9"))
        turns.serve(20, clients=4)
    assert turns.changes == []


@pytest.mark.parametrize(
    ("clients", "is_answered", "failures"), [(2, False, 5), (1, True, 5), (1, False, 11)], ids=["two", "one", "lonely"]
)
def test_an_endpoint_that_breaks_for_everybody_is_ejected_for_failures_in_a_row(
    clients: int, failures: int, *, is_answered: bool
) -> None:
    """A client that meets nothing but failures needs a second, in which others would have come."""
    broken, other = EndpointHealth(), EndpointHealth()
    health = BackendHealth(Ejection(consecutive_errors=5), [broken, other], place_of)
    for number in range(failures):
        assert broken.is_well
        client, now = Client(f"10.0.0.{number % clients}"), number * 0.1
        health.report(broken, Outcome.FAILED, now, False, client)
        if is_answered:
            health.report(other, Outcome.ANSWERED, now, False, client)
    assert not broken.is_well


@pytest.mark.parametrize(("count", "share"), [(6, 0.1), (6, 0.4), (2, 0.5), (3, 0.9), (4, 1.0)])
@pytest.mark.parametrize("clients", [1, 5])
def test_of_endpoints_that_break_alike_none_is_ejected_for_failures_in_a_row(
    count: int, share: float, clients: int
) -> None:
    """As gRPC servers do that say UNAVAILABLE for what all of them depend on."""
    turns = Turns(*[share] * count, rules=Ejection(), failure=Outcome.FAILED)
    turns.serve(10_000, clients=clients)
    assert turns.changes == []


def test_one_that_always_breaks_is_ejected_though_the_others_break_now_and_then() -> None:
    turns = Turns(1.0, 0.3, 0.3, rules=Ejection(failure_percent=0), failure=Outcome.FAILED)
    turns.serve(200)
    assert turns.ejected == {0}
