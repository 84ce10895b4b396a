"""Quantiles of counted durations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.admin.overview.durations import quantile

BOUNDS = (0.001, 0.01, 0.1)


@pytest.mark.parametrize(
    ("share", "counts", "seconds"),
    [
        (0.5, (10, 0, 0, 0), 0.0005),
        (1.0, (10, 0, 0, 0), 0.001),
        (0.5, (0, 10, 0, 0), 0.0055),
        (0.75, (10, 10, 0, 0), 0.0055),
        (0.99, (0, 0, 0, 5), 0.1),
        (0.5, (1,), 0.0005),
        (0.99, (99, 0, 1, 0), 0.001),
    ],
)
def test_durations_of_a_bucket_are_spread_evenly(share: float, counts: tuple[float, ...], seconds: float) -> None:
    assert quantile(share, BOUNDS, counts) == pytest.approx(seconds)


def test_counts_are_added_up_whatever_their_length() -> None:
    assert quantile(0.5, BOUNDS, (5,), (), (0, 5, 0, 0)) == pytest.approx(0.001)


@pytest.mark.parametrize("counts", [(), (0, 0, 0, 0)])
def test_without_requests_there_is_none(counts: tuple[float, ...]) -> None:
    assert quantile(0.5, BOUNDS, counts) is None
    assert quantile(0.5, (), (1,)) is None


@given(st.lists(st.integers(0, 100), min_size=4, max_size=4).filter(any), st.floats(0.01, 1.0))
def test_a_quantile_is_in_the_range_of_the_buckets_and_grows_with_the_share(counts: list[int], share: float) -> None:
    low, high = quantile(share / 2, BOUNDS, counts), quantile(share, BOUNDS, counts)
    assert low is not None
    assert high is not None
    assert 0.0 <= low <= high <= BOUNDS[-1]
