"""Retries are bounded at a time by what is in flight and over time by what came."""

from __future__ import annotations

import pytest

from balancer.proxy.budget import RetryBudget


def spend(budget: RetryBudget, *, now: float, most: int = 1000) -> int:
    """How many retries it allows one after the other."""
    count = 0
    while count < most and budget.may_retry(now):
        budget.begin_retry()
        budget.end_retry()
        count += 1
    return count


@pytest.mark.parametrize(("requests", "most"), [(0, 3), (1, 3), (15, 3), (20, 4), (100, 20)])
def test_at_a_time_a_fifth_of_what_is_in_flight_and_at_least_three(requests: int, most: int) -> None:
    budget = RetryBudget(0.0)
    for _ in range(requests):
        budget.begin_request()
    count = 0
    while budget.may_retry(0.0):
        budget.begin_retry()
        count += 1
    assert count == most
    budget.end_retry()
    assert budget.may_retry(0.0)


def test_an_idle_worker_may_make_three_a_second() -> None:
    budget = RetryBudget(0.0)
    spend(budget, now=0.0)
    assert spend(budget, now=0.0) == 0
    assert spend(budget, now=2.0) == 6


def test_over_time_a_fifth_of_what_came_and_three_a_second() -> None:
    budget = RetryBudget(0.0)
    spend(budget, now=0.0)
    retries = 0
    for number in range(1, 3001):  # 300 requests a second for 10 s, each of which would be retried twice
        budget.begin_request()
        retries += spend(budget, now=number / 300, most=2)
        budget.end_request()
    assert retries == pytest.approx(3000 * 0.2 + 10 * 3, abs=2)


def test_quiet_times_save_up_for_a_failure_but_not_without_end() -> None:
    assert spend(RetryBudget(0.0), now=1e6) == 100


def test_where_nothing_was_sent_only_the_bound_over_time_holds() -> None:
    budget = RetryBudget(0.0)
    count = 0
    while budget.may_retry(0.0, nothing_sent=True):
        budget.begin_retry()
        count += 1
    assert count == 100
