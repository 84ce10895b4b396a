"""What was measured, and the figures that are made of it: medians, and ratios inside a round.

Must not know how it was measured, nor what is good enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from statistics import median

import msgspec


class Measure(Enum):
    """What a sample has one figure of. CPU is that of the proxy's whole process tree, user and system."""

    CPU = "cpu_microseconds"
    RATE = "per_second"
    P50 = "p50_milliseconds"
    P99 = "p99_milliseconds"
    CONNECTION = "connection_kib"
    MEMORY = "memory_mib"
    FAILED = "failed_share"


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One contender in one round of one case; what a case does not give is absent."""

    case: str
    contender: str
    round: int
    figures: dict[str, float]


class Absence(msgspec.Struct, frozen=True):
    """Why there is nothing of a contender; `case` is empty where that is so in every case."""

    contender: str
    why: str
    case: str = ""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What a load generator says at its end. `failed` requests are none of `requests`."""

    requests: int
    seconds: float
    failed: int = 0
    p50_milliseconds: float | None = None
    p99_milliseconds: float | None = None


def figures(load: Load, *, cpu_seconds: float, memory_mib: float) -> dict[str, float]:
    """The figures of one round, from what the generator says and what the kernel says of the proxy."""
    found = {
        Measure.MEMORY: memory_mib,
        Measure.FAILED: load.failed / max(load.requests + load.failed, 1),
        Measure.P50: load.p50_milliseconds,
        Measure.P99: load.p99_milliseconds,
    }
    if load.requests:
        found |= {Measure.CPU: cpu_seconds / load.requests * 1e6, Measure.RATE: load.requests / load.seconds}
    return {measure.value: value for measure, value in found.items() if value is not None}


class Figures:
    """All samples of a run. A figure that nobody measured is None."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._values: dict[tuple[str, str, str], dict[int, float]] = {}
        for sample in samples:
            for measure, value in sample.figures.items():
                self._values.setdefault((sample.case, sample.contender, measure), {})[sample.round] = value

    def value(self, case: str, contender: str, measure: Measure) -> float | None:
        """The median over the rounds."""
        values = self._rounds(case, contender, measure)
        return median(values.values()) if values else None

    def worst(self, case: str, contender: str, measure: Measure) -> float | None:
        """The largest of all rounds."""
        return max(self._rounds(case, contender, measure).values(), default=None)

    def ratio(self, case: str, contender: str, against: str, *, measure: Measure) -> float | None:
        """The median of each round's ratio: what else the machine did then, it did to both."""
        mine, theirs = self._rounds(case, contender, measure), self._rounds(case, against, measure)
        ratios = [value / theirs[number] for number, value in mine.items() if theirs.get(number)]
        return median(ratios) if ratios else None

    def contenders(self, case: str) -> list[str]:
        """Who has any figure of a case."""
        return list(dict.fromkeys(contender for name, contender, _ in self._values if name == case))

    def _rounds(self, case: str, contender: str, measure: Measure) -> dict[int, float]:
        return self._values.get((case, contender, measure.value), {})
