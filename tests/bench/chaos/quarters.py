"""Whether memory is flat: what a process held in each quarter of a run.

Responsible for arithmetic on samples. It must not know what was sampled or how.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from tests.bench.soak.trends import Point
from tests.bench.soak.verdicts import Verdict, mebibytes

GROWTH = 1.1
RULE = (
    "A process is flat if the mean of the last quarter of the run is at most "
    f"{GROWTH:g} times that of the second quarter. The first quarter fills pools, caches and the quarantine."
)
_QUARTERS = 4


def means(points: Sequence[Point], *, start: float, end: float) -> tuple[float, ...]:
    """The mean of each quarter of the time from `start` to `end`; 0 where there is no sample."""
    parts: list[list[float]] = [[] for _ in range(_QUARTERS)]
    for at, value in points:
        if start <= at < end:
            parts[int((at - start) * _QUARTERS / (end - start))].append(value)
    return tuple(fmean(part) if part else 0.0 for part in parts)


def flat(what: str, quarters: Sequence[float]) -> Verdict:
    """Whether the last quarter is like the second. A process that was not there in both is not flat."""
    _, second, _, last = quarters
    goal = f"{what}: last quarter"
    is_met = 0 < last <= second * GROWTH
    return Verdict(goal, f"≤ {mebibytes(second * GROWTH)}", mebibytes(last), is_met)
