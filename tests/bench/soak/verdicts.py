"""What the soak promises, judged by what it measured.

Responsible for the goals with their allowances. It must not know how anything was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tests.bench.soak.trends import Point, Trend, settled, trend

WARM_UP_SHARE = 0.2
"""Of a run, and at most `WARM_UP_SECONDS`: pools, caches and the allocator's arenas fill."""

WARM_UP_SECONDS = 300.0
LONG_SHARE = 0.4
"""A process that was sampled for less of the run is too short-lived to have a trend."""

BYTES_PER_HOUR = 1024 * 1024
NOISE_BYTES = 2 * 1024 * 1024
"""What a resident set moves without growing: arenas and the bursts that fall on the ends of a short run."""

DESCRIPTORS = 8
"""What the number of connections at one moment differs from that at another, on a flat line through all."""

THREADS = 1
REPLACED_WITHIN_SECONDS = 1.0


class Verdict(NamedTuple):
    """One goal, what it allows, what was measured, and whether it is met."""

    goal: str
    allowed: str
    measured: str
    is_met: bool


def at_most(goal: str, measured: float, allowed: float, *, unit: str = "") -> Verdict:
    """A figure that may not exceed another."""
    return Verdict(goal, f"≤ {_figure(allowed)}{unit}", f"{_figure(measured)}{unit}", measured <= allowed)


def at_least(goal: str, measured: float, required: float) -> Verdict:
    """A figure that may not stay below another."""
    return Verdict(goal, f"≥ {_figure(required)}", _figure(measured), measured >= required)


def within(goal: str, measured: int, expected: int, *, allowance: int) -> Verdict:
    """A count that may differ from another by an allowance."""
    is_met = abs(measured - expected) <= allowance
    return Verdict(goal, f"{expected} ± {allowance}", f"{measured}", is_met)


def warm_up_seconds(run_seconds: float) -> float:
    return min(run_seconds * WARM_UP_SHARE, WARM_UP_SECONDS)


def grown(points: Sequence[Point], *, run_seconds: float) -> Trend | None:
    """The trend of one process after its warm-up; None if it did not live long enough to have one."""
    if not points or points[-1].at - points[0].at < LONG_SHARE * run_seconds:
        return None
    left = settled(points, warm_up_seconds=warm_up_seconds(run_seconds))
    return trend(left) if len(left) > 2 else None


def flat_memory(name: str, found: Trend) -> Verdict:
    allowed = NOISE_BYTES + BYTES_PER_HOUR * found.seconds / 3600
    goal = f"resident set of the {name}: growth"
    return Verdict(goal, f"≤ {mebibytes(allowed)}", mebibytes(found.growth), found.growth <= allowed)


def flat_descriptors(name: str, found: Trend) -> Verdict:
    return at_most(f"descriptors of the {name}: growth", found.growth, DESCRIPTORS)


def flat_threads(name: str, found: Trend) -> Verdict:
    return at_most(f"threads of the {name}: growth", found.growth, THREADS)


def replaced(seconds: Sequence[float | None]) -> list[Verdict]:
    """Whether each killed worker had a successor soon enough; nothing if none was killed."""
    if not seconds:
        return []
    never = sum(each is None for each in seconds)
    slowest = max((each for each in seconds if each is not None), default=0.0)
    return [
        at_most("killed workers without a successor", never, 0),
        at_most("the slowest successor serves after", slowest, REPLACED_WITHIN_SECONDS, unit=" s"),
    ]


def mebibytes(size: float) -> str:
    return f"{size / 2**20:.1f} MiB"


def _figure(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
