"""Whether a figure grows: the slope of its samples, and what it means over a while.

Responsible for arithmetic on samples. It must not know what was sampled or how.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from statistics import median
from typing import NamedTuple

_POINTS = 200  # the slopes of all pairs of so many are 20,000; more samples say no more about a line


class Point(NamedTuple):
    """One sample: when, in seconds, and how much."""

    at: float
    value: float


class Trend(NamedTuple):
    """A line through samples. `growth` is what it rises over `seconds`, the time between the first and the last."""

    first: float
    last: float
    seconds: float
    slope: float

    @property
    def growth(self) -> float:
        return self.slope * self.seconds


def trend(points: Sequence[Point]) -> Trend:
    """The line of Theil and Sen: the median slope of all pairs, so that a peak here and there does not tilt it.

    Two points are the least. They are in the order of time.
    """
    few = thinned(points)
    slopes = [(late.value - early.value) / (late.at - early.at) for early, late in combinations(few, 2)]
    return Trend(few[0].value, few[-1].value, few[-1].at - few[0].at, median(slopes))


def thinned(points: Sequence[Point], count: int = _POINTS) -> list[Point]:
    """At most so many points: the median of each of as many stretches, the ends among them."""
    if len(points) <= count:
        return list(points)
    ends = [round(number * len(points) / count) for number in range(count + 1)]
    stretches = [points[start:end] for start, end in pairwise(ends)]
    return [Point(median(p.at for p in stretch), median(p.value for p in stretch)) for stretch in stretches]


def settled(points: Sequence[Point], *, warm_up_seconds: float) -> list[Point]:
    """The points that are later than the first by the warm-up."""
    return [point for point in points if point.at - points[0].at >= warm_up_seconds]
