"""Failures are counted lately, remembered longer where answers are rare, and compared by standard errors."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.sharing.zone_peers import ZoneSeen
from balancer.zones.failures import FailureCount, FailureWindow, surely_worse, surely_worse_than_before, total

MARGIN, ERRORS = 0.05, 2.5


def window(*, rate: float, failing: float, seconds: float, after: FailureWindow | None = None) -> FailureWindow:
    """A window in which `rate` answers a second came, of which every so many failed."""
    made = after or FailureWindow()
    due = failed = 0.0
    for _ in range(round(seconds * 10)):
        due += rate / 10
        while due >= 1.0:
            due -= 1.0
            failed += failing
            made.note(failed=failed >= 1.0, seconds=0.02)
            failed -= failed >= 1.0
        made.pass_time(0.1)
    return made


def worse(one: FailureCount, other: FailureCount) -> bool:
    return surely_worse(one, other, margin=MARGIN, errors=ERRORS)


@pytest.mark.parametrize(
    ("one", "other", "is_worse"),
    [
        (FailureCount(100, 40), FailureCount(20, 0), True),
        (FailureCount(100, 100), FailureCount(8, 0), True),
        (FailureCount(100, 40), FailureCount(5, 0), False),  # too few to be sure
        (FailureCount(100, 40), FailureCount(100, 40), False),
        (FailureCount(10_000, 200), FailureCount(10_000, 0), False),  # sure, and not worth it
        (FailureCount(100, 40), FailureCount(), False),
        (FailureCount(), FailureCount(100, 0), False),
    ],
)
def test_one_share_is_worse_than_another_only_for_sure(one: FailureCount, other: FailureCount, is_worse: bool) -> None:
    assert worse(one, other) is is_worse


@given(st.integers(0, 500), st.integers(0, 500), st.integers(0, 500), st.integers(0, 500))
def test_of_two_zones_one_is_worse_at_most(well: int, failed: int, other_well: int, other_failed: int) -> None:
    one, other = FailureCount(well + failed, failed), FailureCount(other_well + other_failed, other_failed)
    assert not (worse(one, other) and worse(other, one))


@pytest.mark.parametrize("failing", [0.1, 0.4, 0.9])
def test_zones_that_are_alike_are_seldom_taken_for_different_ones(failing: float) -> None:
    chance = random.Random(1)

    def some(count: int) -> FailureCount:
        return FailureCount(count, sum(chance.random() < failing for _ in range(count)))

    assert sum(worse(some(200), some(20)) for _ in range(1000)) <= 10


@pytest.mark.parametrize(
    ("now", "before", "is_worse"),
    [
        (FailureCount(60, 18), FailureCount(14, 0), True),
        (FailureCount(10, 3), FailureCount(14, 0), False),
        (FailureCount(60, 18), FailureCount(100, 30), False),
        (FailureCount(1000, 100), FailureCount(1000, 60), False),
        (FailureCount(), FailureCount(14, 0), False),
    ],
)
def test_harm_is_seen_even_if_little_is_known_of_before(
    now: FailureCount, before: FailureCount, is_worse: bool
) -> None:
    assert surely_worse_than_before(now, before, margin=MARGIN, errors=ERRORS) is is_worse


def test_the_latest_seconds_count_where_answers_are_many() -> None:
    seen = window(rate=100, failing=0.0, seconds=20)
    window(rate=100, failing=0.5, seconds=2, after=seen)
    assert seen.lately.ratio > 0.25
    assert seen.rate == pytest.approx(100, rel=0.2)


def test_where_answers_are_rare_as_many_are_remembered_for_a_minute_at_most() -> None:
    assert window(rate=1, failing=0.0, seconds=120).lately.answers > 25
    idle = window(rate=0, failing=0.0, seconds=600, after=window(rate=10, failing=0.5, seconds=20))
    assert idle.lately.answers < 0.1


def test_a_run_ends_with_a_failure_and_latency_is_that_of_answers_that_did_not_fail() -> None:
    seen = FailureWindow()
    for failed, seconds in ((False, 0.1), (True, 9.0), (False, 0.2), (False, 0.4)):
        seen.note(failed=failed, seconds=seconds)
    seen.pass_time(0.1)
    assert seen.run == 2
    assert seen.latency.seconds == pytest.approx(0.7 / 3)
    seen.restart()
    assert (seen.run, seen.lately, seen.latency.count) == (0, FailureCount(), 0)


def test_what_was_read_late_says_nothing_about_latency() -> None:
    seen = FailureWindow()
    for is_late, seconds in ((False, 0.1), (True, 9.0)):
        seen.note(failed=False, seconds=seconds)
        seen.pass_time(0.1, is_late=is_late)
    assert seen.run == 2
    assert seen.latency.seconds == pytest.approx(0.1)


def test_answers_of_others_lengthen_no_run_that_began_in_the_same_moment() -> None:
    """They may have come before the failure that ended the last run."""
    seen, others = FailureWindow(), ZoneSeen((9.0,), (0.0,), 0.1)
    seen.note(failed=True, seconds=0.1)
    seen.note(failed=False, seconds=0.1)
    seen.add(others, 1.0)
    assert seen.run == 1
    seen.pass_time(0.1)
    seen.add(others, 1.0)
    assert seen.run == 10


def test_zones_are_added_up() -> None:
    assert total([FailureCount(3, 1), FailureCount(5, 2)]) == FailureCount(8, 3)
    assert total([]).ratio == 0.0


@pytest.mark.parametrize(("others_failing", "failed"), [(0.0, 0.0), (1.0, 20.0)])
def test_where_two_clients_have_one_place_failures_count_if_both_meet_them(
    others_failing: float, failed: float
) -> None:
    seen = FailureWindow()
    for _ in range(10):
        seen.note(failed=True, seconds=0.01, place=3, client=b"192.0.2.16")
        seen.note(failed=others_failing > 0.0, seconds=0.01, place=3, client=b"10.0.0.0")
    assert seen.quiet == FailureCount(20.0, failed)
