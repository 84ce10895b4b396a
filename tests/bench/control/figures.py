"""What was measured, beside its bar, and whether it is met.

Responsible for numbers, verdicts and their words. It must not know how anything is measured.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from math import ceil

import msgspec


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One measured value. `bar` is the most it may be, None where nothing was promised; `detail` explains it."""

    name: str
    value: float
    unit: str
    bar: float | None = None
    detail: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the bar is met; None where there is none."""
        return None if self.bar is None else self.value <= self.bar

    @property
    def verdict(self) -> str:
        """In one or a few words, for a table."""
        if self.bar is None:
            return ""
        if self.met:
            return "met"
        return f"missed: {self.value / self.bar:.1f} times" if self.bar else "missed"


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one run with a number of workers; 0 serves in the control process."""

    workers: int
    figures: tuple[Figure, ...]


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured in one cluster, and where. `date` is that of its end, UTC."""

    date: str
    machine: str
    versions: str
    cluster: str
    results: tuple[Results, ...]


class Report(RunReport, frozen=True, kw_only=True):
    """All that the command has measured. `routes` is a cluster of Gateway API, which may be measured by itself."""

    remarks: tuple[str, ...] = ()
    routes: RunReport | None = None


def median(name: str, seconds: Sequence[float], *, bar: float | None = None, also: str = "") -> Figure:
    """The median of what several changes took, in milliseconds. `also` is more detail. ValueError if there are none."""
    milliseconds = [1000 * each for each in seconds]
    return Figure(
        name=name,
        value=statistics.median(milliseconds),
        unit="ms",
        bar=bar,
        detail=f"{len(seconds)} changes, {min(milliseconds):.0f} to {max(milliseconds):.0f} ms{also}",
    )


def waited(seconds: float) -> str:
    """What the latency of a change holds beside work, as more detail of it."""
    return f"; {1000 * seconds:.0f} ms of it is the holdoff"


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` (0 to 1) of all are not above (nearest rank). ValueError if there are none."""
    if not values:
        raise ValueError("no values")
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def ratio(value: float, base: float) -> float:
    """`value` as a multiple of `base`; 0 of nothing is 1."""
    if base:
        return value / base
    return 1.0 if not value else float("inf")
