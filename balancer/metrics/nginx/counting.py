"""Counts requests under the names of ingress-nginx, into the slot table of a worker.

Exists only with `--compat-metrics nginx`. Does not know what a request is beyond its labels and sizes. Only the thread
that owns the slot table may call it.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from balancer.metrics.kinds import Definition, MetricKind
from balancer.metrics.nginx.series import (
    BYTES_SENT,
    COUNTED,
    NUMBERS,
    REQUEST_LABELS,
    REQUEST_SECONDS,
    REQUEST_SIZE,
    REQUESTS,
    RESPONSE_SECONDS,
    RESPONSE_SIZE,
)
from balancer.metrics.slots import Key, SlotTable, is_overflow

# Clients choose methods, so all methods outside this list count under one name.
_METHODS: Final = frozenset(
    (
        "GET",
        "HEAD",
        "POST",
        "PUT",
        "DELETE",
        "CONNECT",
        "OPTIONS",
        "TRACE",
        "PATCH",
        "PROPFIND",
        "MKCOL",
        "COPY",
        "MOVE",
    )
)
_OTHER: Final = "OTHER"
_NAMESPACE_AT: Final = REQUEST_LABELS.index("namespace")

RequestLabels = tuple[str, str, str, str, str, str]
"""Status, method, path of the Ingress, namespace, Ingress and Service."""


class NginxRecorder:
    """Remembers labels with their slots, so a known series costs one lookup."""

    __slots__ = ("_known", "_table", "_values")

    def __init__(self, table: SlotTable) -> None:
        self._table = table
        self._values = table.values
        self._known: dict[RequestLabels, dict[str, int]] = {}

    def request(
        self,
        labels: RequestLabels,
        *,
        seconds: float,
        endpoint_seconds: float | None,
        request_bytes: int,
        response_bytes: int,
    ) -> None:
        """Counts one request at its end. `endpoint_seconds` is None if no endpoint was asked, or several were.

        The status label must be a listed status or a class such as 5xx, because endpoints choose statuses.
        """
        slots = self._known.get(labels)
        if slots is None:
            slots = self._slots(labels)
        self._values[slots[REQUESTS.name]] += 1.0
        self._observe(REQUEST_SECONDS, slots, seconds)
        if endpoint_seconds is not None:
            self._observe(RESPONSE_SECONDS, slots, endpoint_seconds)
        self._observe(REQUEST_SIZE, slots, request_bytes)
        self._observe(RESPONSE_SIZE, slots, response_bytes)
        self._observe(BYTES_SENT, slots, response_bytes)

    def _observe(self, histogram: Definition, slots: dict[str, int], amount: float) -> None:
        first, bounds = slots[histogram.name], histogram.buckets
        self._values[first + bisect_left(bounds, amount)] += 1.0
        self._values[first + len(bounds) + 1] += amount

    def _slots(self, labels: RequestLabels) -> dict[str, int]:
        status, method, *place = labels
        bounded = (status, method if method in _METHODS else _OTHER, *place, "")
        slots = {
            each.name: self._table.slot(Key(NUMBERS[each.name], bounded), width_of(each), tenant_at=_NAMESPACE_AT)
            for each in COUNTED
        }
        # Labels with an unlisted method are not cached, because clients could fill the cache. Nor are overflow slots.
        if method in _METHODS and not any(map(is_overflow, slots.values())):
            self._known[labels] = slots
        return slots


def width_of(definition: Definition) -> int:
    """The number of slots of a metric: 1. For a histogram: its buckets, one beyond the last bound, and the sum."""
    return len(definition.buckets) + 2 if definition.kind is MetricKind.HISTOGRAM else 1
