"""Reads from the counters how many requests of each Service were picked for an endpoint. No I/O."""

from __future__ import annotations

from collections.abc import Iterable

from balancer.metrics.definitions import ZONE_DECISIONS
from balancer.metrics.recorder import NUMBERS
from balancer.metrics.slots import Buffer
from balancer.metrics.totals import Totals
from balancer.runtime.steps import finished


def picks_by_service(totals: Totals, tables: Iterable[Buffer], services: frozenset[str]) -> dict[str, int]:
    """The requests of each of `services` (`namespace/name`) since the start of this replica."""
    if not services:
        return {}
    finished(totals.take_up(tables))
    counts = dict.fromkeys(services, 0)
    for series in totals.of(NUMBERS[ZONE_DECISIONS.name]):
        namespace, service, _ = series.key.labels
        name = f"{namespace}/{service}"
        if name in counts:
            counts[name] += int(series.value)
    return counts
