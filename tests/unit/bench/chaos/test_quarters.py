"""Memory is flat if the last quarter of a run is like the second, whatever the first one was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.chaos.quarters import GROWTH, flat, means
from tests.bench.soak.trends import Point

MEBIBYTE = 2.0**20


def test_each_quarter_has_the_mean_of_its_samples() -> None:
    points = [Point(10.0 + at, float(at)) for at in range(8)]
    assert means(points, start=10.0, end=18.0) == (0.5, 2.5, 4.5, 6.5)


def test_samples_outside_the_run_do_not_count_and_a_quarter_may_be_empty() -> None:
    points = [Point(9.9, 100.0), Point(10.0, 1.0), Point(17.9, 3.0), Point(18.0, 100.0)]
    assert means(points, start=10.0, end=18.0) == (1.0, 0.0, 0.0, 3.0)
    assert means([], start=0.0, end=1.0) == (0.0, 0.0, 0.0, 0.0)


@given(st.lists(st.floats(0.0, 99.999), max_size=50), st.floats(1.0, 1e9))
def test_equal_samples_have_equal_means(times: list[float], value: float) -> None:
    found = means([Point(at, value) for at in times], start=0.0, end=100.0)
    assert all(mean == 0.0 or mean == pytest.approx(value) for mean in found)


@pytest.mark.parametrize(
    ("quarters", "is_flat"),
    [
        ((10.0, 50.0, 51.0, 50.0 * GROWTH), True),
        ((90.0, 50.0, 50.0, 50.0), True),
        ((10.0, 50.0, 51.0, 50.0 * GROWTH + 0.1), False),
        ((10.0, 50.0, 51.0, 0.0), False),
        ((10.0, 0.0, 51.0, 50.0), False),
    ],
    ids=["as much as allowed", "warmed up", "too much", "ended", "began late"],
)
def test_flat_is_judged_by_the_second_and_the_last_quarter(quarters: tuple[float, ...], *, is_flat: bool) -> None:
    assert flat("resident set of the parent", [size * MEBIBYTE for size in quarters]).is_met is is_flat
