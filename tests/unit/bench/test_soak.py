"""A trend is that of the whole run and not of its peaks; only what a kill explains is excused; goals are judged so."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.soak.sampling import Held
from tests.bench.soak.tally import FAILS_WITHIN_SECONDS, Failure, Kill, explained, unexplained
from tests.bench.soak.trends import Point, settled, thinned, trend
from tests.bench.soak.verdicts import (
    NOISE_BYTES,
    at_least,
    at_most,
    flat_memory,
    grown,
    replaced,
    warm_up_seconds,
    within,
)
from tests.integration.processes import Usage

RUN_SECONDS = 600.0
SAMPLES = 120


def line(*, first: float, slope: float, noise: float = 0.0, seconds: float = RUN_SECONDS) -> list[Point]:
    dice = random.Random(1)
    times = [seconds * number / (SAMPLES - 1) for number in range(SAMPLES)]
    return [Point(at, first + slope * at + dice.uniform(-noise, noise)) for at in times]


@given(st.floats(-1e3, 1e3), st.floats(0, 1e6))
def test_a_line_has_its_own_slope(slope: float, first: float) -> None:
    found = trend(line(first=first, slope=slope))
    assert found.growth == pytest.approx(slope * RUN_SECONDS, abs=1e-3)


def test_peaks_do_not_tilt_a_flat_line() -> None:
    points = line(first=100.0, slope=0.0)
    points[-1] = points[-1]._replace(value=10_000.0)
    points[60] = points[60]._replace(value=5_000.0)
    assert trend(points).growth == 0.0


def test_a_slope_shows_through_noise() -> None:
    assert trend(line(first=0.0, slope=1.0, noise=50.0)).growth == pytest.approx(RUN_SECONDS, rel=0.1)


@given(st.integers(2, 1000), st.integers(2, 50))
def test_thinned_points_are_few_and_in_order(count: int, few: int) -> None:
    points = [Point(float(number), float(number)) for number in range(count)]
    left = thinned(points, few)
    assert len(left) == min(count, few)
    assert left == sorted(left)
    assert points[0] <= left[0] <= left[-1] <= points[-1]


def test_the_warm_up_is_left_out() -> None:
    points = line(first=0.0, slope=0.0)
    assert settled(points, warm_up_seconds=120.0)[0].at >= 120.0
    assert warm_up_seconds(600.0) == 120.0
    assert warm_up_seconds(36_000.0) == 300.0


def test_what_warms_up_and_stays_is_flat_and_what_leaks_is_not() -> None:
    warming = [Point(at, min(value, 120 * 1e6)) for at, value in line(first=50e6, slope=1e6)]
    flat, leak = grown(warming, run_seconds=RUN_SECONDS), grown(line(first=50e6, slope=1e4), run_seconds=RUN_SECONDS)
    assert flat is not None and leak is not None
    assert flat_memory("parent", flat).is_met
    assert leak.growth > NOISE_BYTES
    assert not flat_memory("parent", leak).is_met


def test_a_short_life_has_no_trend() -> None:
    assert grown(line(first=0.0, slope=1.0, seconds=60.0), run_seconds=RUN_SECONDS) is None
    assert grown([], run_seconds=RUN_SECONDS) is None


def test_samples_become_points() -> None:
    held = Held("parent", 7, [(1.0, Usage(10, 20, 3, 4)), (2.0, Usage(11, 21, 5, 4))])
    assert held.points(lambda each: each.descriptors) == [Point(1.0, 3), Point(2.0, 5)]


KILL = Kill(at=100.0, pid=7, ports=frozenset((5001, 5002)), seconds=0.4)


def failure(at: float, port: int) -> Failure:
    return Failure(at, "kept connection", port, 1, "IncompleteReadError()")


@pytest.mark.parametrize(
    ("at", "port", "is_explained"),
    [
        (100.0, 5001, True),
        (100.0 + FAILS_WITHIN_SECONDS, 5002, True),
        (99.9, 5001, False),
        (100.1 + FAILS_WITHIN_SECONDS, 5001, False),
        (100.1, 5003, False),
        (100.1, 0, False),  # refused
    ],
)
def test_a_kill_explains_only_what_its_worker_held(at: float, port: int, is_explained: bool) -> None:
    failures = [failure(at, port)]
    assert explained(failures, [KILL]) == (failures if is_explained else [])
    assert unexplained(failures, [KILL]) == ([] if is_explained else failures)
    assert unexplained(failures, []) == failures


def test_figures_are_judged_by_their_bounds() -> None:
    assert at_most("a", 1.0, 1.0).is_met
    assert not at_most("a", 1.01, 1.0).is_met
    assert at_least("a", 0.7, 0.7).is_met
    assert not at_least("a", 0.69, 0.7).is_met
    assert within("a", 98, 100, allowance=2).is_met
    assert not within("a", 103, 100, allowance=2).is_met


def test_a_successor_that_is_late_or_missing_misses_its_goal() -> None:
    assert replaced([]) == []
    assert [verdict.is_met for verdict in replaced([0.3, 0.9])] == [True, True]
    assert [verdict.is_met for verdict in replaced([0.3, 1.1])] == [True, False]
    assert [verdict.is_met for verdict in replaced([0.3, None])] == [False, True]
