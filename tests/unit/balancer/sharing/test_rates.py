"""The cell rate algorithm: nginx's numbers, on a clock of numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.limits import Rate
from balancer.sharing.rates import Schedule, due_after, schedule_of

SECOND = 1_000_000_000


def passing(schedule: Schedule, times: list[int]) -> int:
    """How many of the requests at these times pass."""
    due, passed = 0, 0
    for now in times:
        following = due_after(schedule, due, now)
        if following is not None:
            due, passed = following, passed + 1
    return passed


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (Rate(1, 1, 5), Schedule(SECOND, 5 * SECOND)),
        (Rate(100, 1, 500), Schedule(SECOND // 100, 5 * SECOND)),
        (Rate(2, 60, 4), Schedule(30 * SECOND, 120 * SECOND)),
        (Rate(1, 1, 0), Schedule(SECOND, 0)),
    ],
)
def test_a_rate_is_an_interval_and_a_tolerance(rate: Rate, expected: Schedule) -> None:
    assert schedule_of(rate) == expected


def test_any_rate_fits_into_eight_bytes() -> None:
    for requests in (1, 999_999_999):
        assert 0 < sum(schedule_of(Rate(requests, 60, 10**18))) < 2**62


def test_one_and_the_burst_pass_at_once_and_one_more_each_interval() -> None:
    schedule = schedule_of(Rate(1, 1, 5))
    assert passing(schedule, [0] * 20) == 6
    assert passing(schedule, [0] * 20 + [SECOND - 1]) == 6
    assert passing(schedule, [0] * 20 + [SECOND] * 2) == 7
    assert passing(schedule, [0] * 20 + [7 * SECOND] * 20) == 12


@pytest.mark.large
def test_refused_requests_do_not_count() -> None:
    schedule = schedule_of(Rate(1, 1, 0))
    assert passing(schedule, [0, *range(0, SECOND, 1000), SECOND]) == 2


@given(
    st.integers(1, 500),
    st.sampled_from([1, 60]),
    st.integers(0, 100),
    st.lists(st.integers(0, 10 * SECOND), min_size=1, max_size=200).map(sorted),
)
def test_no_window_lets_more_pass_than_rate_and_burst(
    requests: int, seconds: int, burst: int, times: list[int]
) -> None:
    schedule = schedule_of(Rate(requests, seconds, burst))
    allowed = 1 + burst + (times[-1] - times[0]) // schedule.interval
    assert passing(schedule, times) <= allowed
    assert passing(schedule, times) >= min(len(times), 1 + burst)
