"""Quantiles of counted durations."""

from __future__ import annotations

import pytest

from ingress.cli.terminal.durations import quantile

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
