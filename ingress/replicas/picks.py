"""Reads from the counters what other replicas are told: requests of Services, and answers by namespace. No I/O."""

from __future__ import annotations

from collections.abc import Iterable

from balancer.errors import ErrorKind
from balancer.metrics.definitions import RESPONSES, ZONE_DECISIONS
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


_NO_ANSWER = frozenset(
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


def answers_by_namespace(totals: Totals, tables: Iterable[Buffer]) -> dict[str, tuple[int, int]]:
    """The answers to clients since the start of this replica, and those of them for which no endpoint answered."""
    finished(totals.take_up(tables))
    found: dict[str, list[int]] = {}
    for series in totals.of(NUMBERS[RESPONSES.name]):
        namespace, _, _, _, error = series.key.labels
        counts = found.setdefault(namespace, [0, 0])
        counts[0] += int(series.value)
        counts[1] += int(series.value) if error in _NO_ANSWER else 0
    return {namespace: (answers, failed) for namespace, (answers, failed) in found.items() if namespace}
