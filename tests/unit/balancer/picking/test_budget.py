"""Retries of a backend are bounded at a time by what is in flight and over time by what came; a reserve is shared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.endpoints import Backend, BackendKey
from balancer.picking.budget import AT_LEAST, RESERVE, RESERVE_SECONDS, RetryBudget, RetryReserve

BACKEND_SHARE = RESERVE // 4
NAMESPACE_SHARE = RESERVE // 2


def budget_of(namespace: str = "shop", service: str = "app") -> RetryBudget:
    return RetryBudget(Backend(BackendKey(f"{namespace}/{service}:80"), namespace, service, "80"))


def spend(budget: RetryBudget, reserve: RetryReserve, *, now: float = 0.0, most: int = 10_000) -> int:
    """How many retries it allows one after the other."""
    count = 0
    while count < most and budget.may_retry(1, reserve, now):
        budget.begin_retry(reserve, now)
        budget.end_retry()
        count += 1
    return count


def earns(budget: RetryBudget) -> bool:
    return budget.earns


def emptied() -> RetryReserve:
    """A reserve that has nothing for anybody at time 0."""
    reserve = RetryReserve()
    for number in range(RESERVE):
        spend(budget_of(f"greedy-{number}"), reserve, most=RESERVE)
    return reserve


@pytest.mark.parametrize(("requests", "most"), [(0, 3), (1, 3), (15, 3), (20, 4), (100, 20)])
def test_at_a_time_a_fifth_of_what_is_in_flight_and_at_least_three(requests: int, most: int) -> None:
    budget, reserve = budget_of(), RetryReserve()
    count = 0
    while budget.may_retry(requests, reserve, 0.0):
        budget.begin_retry(reserve, 0.0)
        count += 1
    assert count == most
    budget.end_retry()
    assert budget.may_retry(requests, reserve, 0.0)


def test_over_time_a_fifth_of_what_came() -> None:
    budget, reserve = budget_of(), emptied()
    assert spend(budget, reserve) == AT_LEAST
    retries = 0
    for _ in range(3000):  # each of which would be retried twice
        budget.begin_request()
        retries += spend(budget, reserve, most=2)
    assert retries == pytest.approx(3000 * 0.2, abs=1)


def test_requests_save_up_for_a_failure_but_not_without_end() -> None:
    budget = budget_of()
    for _ in range(100_000):
        budget.begin_request()
    assert spend(budget, emptied()) == 100


def test_a_full_budget_earns_nothing_until_a_retry_takes_from_it() -> None:
    budget, reserve = budget_of(), emptied()
    requests = 0
    while earns(budget):
        budget.begin_request()
        requests += 1
    assert requests == pytest.approx((100 - AT_LEAST) / 0.2, abs=1)
    budget.begin_retry(reserve, 0.0)
    assert earns(budget)
    assert spend(budget, reserve) == 99


def test_an_idle_backend_has_a_share_of_the_reserve_again_and_again() -> None:
    budget, reserve = budget_of(), RetryReserve()
    assert spend(budget, reserve) == AT_LEAST + BACKEND_SHARE
    assert spend(budget, reserve, now=RESERVE_SECONDS - 1) == 0
    assert spend(budget, reserve, now=RESERVE_SECONDS) == BACKEND_SHARE


def test_where_nothing_was_sent_only_the_bound_over_time_holds() -> None:
    budget, reserve = budget_of(), RetryReserve()
    count = 0
    while budget.may_retry(1, reserve, 0.0, True):
        budget.begin_retry(reserve, 0.0)
        count += 1
    assert count == AT_LEAST + BACKEND_SHARE


def test_what_a_backend_has_earned_no_other_backend_takes() -> None:
    modest, reserve = budget_of("modest"), RetryReserve()
    for _ in range(500):
        modest.begin_request()
    spend(budget_of("greedy"), reserve)
    assert spend(modest, emptied()) == 100


def test_a_namespace_with_many_failing_backends_leaves_half_of_the_reserve_to_others() -> None:
    reserve = RetryReserve()
    greedy = sum(spend(budget_of("greedy", f"app-{number}"), reserve) - AT_LEAST for number in range(1000))
    assert NAMESPACE_SHARE - 1 <= greedy <= NAMESPACE_SHARE
    assert spend(budget_of("modest"), reserve) == AT_LEAST + BACKEND_SHARE


def test_a_failing_canary_leaves_retries_to_the_main_backend() -> None:
    reserve = RetryReserve()
    spend(budget_of("shop", "canary"), reserve)
    assert spend(budget_of("shop", "main"), reserve) == AT_LEAST + BACKEND_SHARE // 2


def test_a_retry_that_was_only_asked_for_is_not_taken() -> None:
    budget, reserve = budget_of(), RetryReserve()
    for _ in range(10_000):
        assert budget.may_retry(1, reserve, 0.0)
    assert spend(budget, reserve) == AT_LEAST + BACKEND_SHARE


def test_a_retry_whose_place_in_the_reserve_is_gone_is_owed() -> None:
    budget, reserve = budget_of(), RetryReserve()
    spend(budget, reserve, most=AT_LEAST)
    assert budget.may_retry(1, reserve, 0.0)
    nothing_left = emptied()
    budget.begin_retry(nothing_left, 0.0)
    budget.end_retry()
    for _ in range(9):
        budget.begin_request()
        assert not budget.may_retry(1, nothing_left, 0.0)
    budget.begin_request()
    assert spend(budget, nothing_left) == 1


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), max_size=2000))
def test_the_reserve_gives_away_no_more_than_it_has(asked: list[tuple[str, str]]) -> None:
    reserve = RetryReserve()
    taken: dict[str, int] = {}
    for namespace, name in asked:
        if reserve.take(namespace, BackendKey(f"{namespace}/{name}:80"), 0.0):
            taken[namespace] = taken.get(namespace, 0) + 1
    assert sum(taken.values()) <= RESERVE
    assert max(taken.values(), default=0) <= NAMESPACE_SHARE
