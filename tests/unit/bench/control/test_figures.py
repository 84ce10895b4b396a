"""Figures are judged by their bars."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.control.figures import Figure, median, percentile, ratio


def figure(value: float, bar: float | None) -> Figure:
    return Figure(name="it", value=value, unit="ms", bar=bar)


@pytest.mark.parametrize(
    ("value", "bar", "met", "verdict"),
    [
        (100, 100, True, "met"),
        (101, 100, False, "missed: 1.0 times"),
        (250, 100, False, "missed: 2.5 times"),
        (0, 0, True, "met"),
        (1, 0, False, "missed"),
        (1, None, None, ""),
    ],
)
def test_a_bar_is_the_most_that_may_be(value: float, bar: float | None, met: bool | None, verdict: str) -> None:
    judged = figure(value, bar)
    assert (judged.met, judged.verdict) == (met, verdict)


def test_a_percentile_is_one_of_the_values() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert [percentile(values, share) for share in (0, 0.01, 0.5, 0.99, 1)] == [1, 1, 50, 99, 100]
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


@given(st.lists(st.floats(0, 1000), min_size=1), st.floats(0, 1))
def test_the_share_is_not_above_the_percentile(values: list[float], share: float) -> None:
    found = percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values)


def test_a_ratio_of_nothing_is_one_or_endless() -> None:
    assert [ratio(6, 3), ratio(0, 0), ratio(1, 0)] == [2, 1, float("inf")]


def test_a_median_is_told_in_milliseconds_with_its_extremes() -> None:
    found = median("a change", [0.3, 0.1, 0.2], bar=150, also="; not alone")
    assert (round(found.value), found.unit, found.met, found.detail) == (
        200,
        "ms",
        False,
        "3 changes, 100 to 300 ms; not alone",
    )
