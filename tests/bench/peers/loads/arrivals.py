"""When requests of an open loop arrive, and what their latencies amount to. No clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random


def arrivals(random: Random, *, per_second: float, seconds: float) -> Iterator[float]:
    """Seconds from the start on: independent of each other and of the answers (a Poisson process)."""
    at = random.expovariate(per_second)
    while at < seconds:
        yield at
        at += random.expovariate(per_second)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest of sorted `values` that so large a share of them does not exceed."""
    return values[min(int(len(values) * share), len(values) - 1)]
