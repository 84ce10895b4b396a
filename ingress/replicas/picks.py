"""Reads from the counters what other replicas are told: requests of Services, and answers by namespace. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from balancer.errors import ErrorKind
from balancer.metrics.definitions import RESPONSES, ZONE_DECISIONS
from balancer.metrics.recorder import NUMBERS
from balancer.metrics.slots import Buffer
from balancer.metrics.totals import Totals
from balancer.runtime.steps import finished

_NO_ANSWER: Final = frozenset(
    kind.value
    for kind in (
        ErrorKind.NO_ENDPOINT,
        ErrorKind.CONNECT_REFUSED,
        ErrorKind.CONNECT_TIMEOUT,
        ErrorKind.ENDPOINT_TLS,
        ErrorKind.ENDPOINT_CLOSED,
        ErrorKind.ENDPOINT_SILENT,
        ErrorKind.ENDPOINT_TIMEOUT,
    )
)


class OwnCounts:
    """What the workers of this replica have counted since its start."""

    __slots__ = ("_kinds", "_services", "_tables", "_totals")

    def __init__(self, totals: Totals, tables: Callable[[], Iterable[Buffer]]) -> None:
        """`totals` adds up the tables of counters, and may be shared with whoever reads the same ones."""
        self._totals = totals
        self._tables = tables
        self._services: list[str] = []  # of each series of picks
        self._kinds: list[tuple[str, bool]] = []  # of each series of answers: its namespace, and whether they failed

    def picks(self, services: frozenset[str]) -> dict[str, int]:
        """The requests of each of `services` (`namespace/name`) for which an endpoint was picked."""
        if not services:
            return {}
        finished(self._totals.take_up(self._tables()))
        every = self._totals.of(NUMBERS[ZONE_DECISIONS.name])
        self._services += ["/".join(series.key.labels[:2]) for series in every[len(self._services) :]]
        counts = dict.fromkeys(services, 0)
        for service, series in zip(self._services, every, strict=True):
            if service in counts:
                counts[service] += int(series.value)
        return counts

    def answers(self) -> dict[str, tuple[int, int]]:
        """The answers to clients by namespace, and those of them for which no endpoint answered."""
        finished(self._totals.take_up(self._tables()))
        every = self._totals.of(NUMBERS[RESPONSES.name])
        for series in every[len(self._kinds) :]:
            namespace, _, _, _, error = series.key.labels
            self._kinds.append((namespace, error in _NO_ANSWER))
        found: dict[str, list[int]] = {}
        for (namespace, has_failed), series in zip(self._kinds, every, strict=True):
            counts = found.setdefault(namespace, [0, 0])
            count = int(series.value)
            counts[0] += count
            if has_failed:
                counts[1] += count
        return {namespace: (answers, failed) for namespace, (answers, failed) in found.items() if namespace}
