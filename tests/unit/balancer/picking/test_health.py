"""Failing in a row ejects, one probe brings back, and there is a cap on what may be missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.endpoints import Ejection
from balancer.picking.ejections import cause_of
from balancer.picking.endpoint_health import Change, EndpointHealth
from balancer.picking.health import BackendHealth
from balancer.picking.outcomes import Outcome

RULES = Ejection(consecutive_errors=3, seconds=10.0)


class Some:
    """Endpoints and their health."""

    def __init__(self, count: int = 3, rules: Ejection = RULES) -> None:
        self.endpoints = [EndpointHealth() for _ in range(count)]
        self.health = BackendHealth(rules, self.endpoints)

    def fail(
        self, number: int = 0, *, times: int = 3, now: float = 0.0, outcome: Outcome = Outcome.UNREACHED
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
    some = Some(rules=Ejection(consecutive_errors=3, on_5xx=True))
    assert not some.fail(outcome=Outcome.ANSWERED_5XX, times=100), "a single client could provoke them"
    assert some.fail(outcome=Outcome.ANSWERED_5XX, times=1, now=1.0), "in a second others would have come"


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
        assert some.probe(Outcome.UNREACHED, now=now) is Change.EJECTED_AGAIN
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
    some.probe(Outcome.UNREACHED, now=10.0)
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


@pytest.mark.parametrize(
    ("rules", "is_back"),
    [
        (Ejection(consecutive_errors=9), False),
        (Ejection(failure_percent=0), False),
        (Ejection(consecutive_errors=0), True),
        (Ejection(max_percent=0), True),
    ],
)
def test_who_was_ejected_by_a_rule_is_back_once_that_is_switched_off(rules: Ejection, is_back: bool) -> None:
    some = Some()
    some.fail()
    version = some.health.version
    some.health.follow(rules, some.endpoints, checked=False)
    assert some.health.version > version
    assert some.endpoints[0].is_well is is_back
    assert some.health.impaired == (set() if is_back else {some.endpoints[0]})


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


def test_a_row_is_broken_by_a_good_answer_however_long_ago_the_failures_were() -> None:
    some = Some()
    some.fail(times=2)
    some.health.report(some.endpoints[1], Outcome.ANSWERED, now=200.0)  # the failures have faded: nothing is watched
    assert not some.endpoints[0].is_watched
    some.health.report(some.endpoints[0], Outcome.ANSWERED, now=201.0)
    assert not some.fail(times=2, now=202.0)
    assert some.fail(times=1, now=203.0)


def test_failures_in_a_row_are_told() -> None:
    some = Some()
    some.fail()
    assert cause_of(some.endpoints[0].why) == "failed too often in a row"


FIVE = Ejection(consecutive_errors=5, seconds=10.0)


def test_two_failures_in_a_row_eject_an_endpoint_that_others_suspect() -> None:
    some = Some(rules=FIVE)
    some.health.suspect(some.endpoints[0], 0.0, 10.0)
    assert some.fail(times=1, now=1.0) is None
    assert some.fail(times=1, now=2.0) is Change.EJECTED
    assert some.fail(1, times=4, now=2.0) is None, "nobody suspects this one"


def test_a_suspicion_ends_by_itself() -> None:
    some = Some(rules=FIVE)
    some.health.suspect(some.endpoints[0], 0.0, 10.0)
    assert some.fail(times=4, now=10.0) is None


def test_what_others_agree_about_is_ejected_unless_it_answers_here() -> None:
    some = Some(rules=FIVE)
    dead, alive, unknown = some.endpoints
    assert not some.health.eject_suspect(unknown, 1.0), "nobody suspects it"
    for endpoint in (dead, alive):
        some.health.suspect(endpoint, 0.0, 10.0)
    some.health.report(alive, Outcome.ANSWERED, 0.5)
    assert some.health.eject_suspect(dead, 1.0)
    assert not some.health.eject_suspect(alive, 1.0)
    assert cause_of(dead.why) == "failed for other replicas"
    assert dead.failures_in_a_row == 0, "it is no evidence of this replica"


def test_rules_without_failures_in_a_row_need_no_suspicion() -> None:
    some = Some(rules=Ejection(consecutive_errors=0, failure_percent=0))
    some.health.suspect(some.endpoints[0], 0.0, 10.0)
    assert some.fail(times=3, now=1.0) is None
    assert not some.health.eject_suspect(some.endpoints[0], 1.0)


def test_failures_in_a_row_are_those_since_the_last_answer() -> None:
    some = Some(rules=FIVE)
    some.fail(times=3)
    assert some.endpoints[0].failures_in_a_row == 3
    some.health.report(some.endpoints[0], Outcome.ANSWERED, 0.0)
    assert some.endpoints[0].failures_in_a_row == 0
    some.fail(times=5)
    assert some.endpoints[0].failures_in_a_row == 5


def test_early_probes_that_fail_do_not_lengthen_the_ejection() -> None:
    some = Some()
    some.fail()
    endpoint = some.endpoints[0]
    for second in range(1, 10):
        assert some.health.take_early_probe(endpoint, float(second)), "the last one is over"
        assert some.health.report(endpoint, Outcome.UNREACHED, now=float(second), probe=True) is None
    assert endpoint.ejected_until == 10.0
    assert some.probe(Outcome.UNREACHED, now=10.0) is Change.EJECTED_AGAIN
    assert endpoint.ejected_until == 30.0


def test_an_endpoint_that_fails_again_after_an_early_probe_is_ejected_for_no_longer() -> None:
    some = Some()
    some.fail()
    endpoint = some.endpoints[0]
    for second in (2.0, 5.0, 9.0):
        assert some.health.take_early_probe(endpoint, second)
        assert some.health.report(endpoint, Outcome.ANSWERED, now=second, probe=True) is Change.RETURNED
        assert some.fail(now=second) is Change.EJECTED
        assert endpoint.ejected_until == second + 10.0
    assert some.health.take_early_probe(endpoint, 12.0)
    some.health.report(endpoint, Outcome.ANSWERED, now=12.0, probe=True)
    some.fail(now=12.0)
    assert endpoint.ejected_until == 32.0, "the first one would be over"
