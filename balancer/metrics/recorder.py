"""The request path's face of the metrics: says what happened, in the words of the request path.

Responsible for turning one event into the right slots. It must not know where the slots live, nor how they are
rendered. Called only by the thread that owns the slot table.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from balancer.metrics.definitions import (
    ACCESS_LOG_DROPPED,
    BUCKETS_SECONDS,
    DEFINITIONS,
    DRY_RUN_COST,
    DRY_RUN_DECISIONS,
    EJECTIONS,
    ENDPOINT_DURATION,
    ERRORS,
    REQUEST_DURATION,
    REQUESTS,
    RETRIES,
    WORKER_RESTARTS,
    ZONE_BLIND_COST,
    ZONE_BYTES,
    ZONE_COST,
    ZONE_DECISIONS,
    Definition,
)
from balancer.metrics.slots import Key, SlotTable, is_overflow

# A histogram's slots: one for each bucket, not cumulative, then what is beyond the last bound, then the sum of seconds.
SUM: Final = len(BUCKETS_SECONDS) + 1
HISTOGRAM_WIDTH: Final = SUM + 1

NUMBERS: Final = {definition.name: number for number, definition in enumerate(DEFINITIONS)}
"""How a slot table names a metric; writer and reader must be of the same version."""

_NO_SLOT: Final = -1

_RequestLabels = tuple[str, str, str, str, str, str, int, str | None]
_RefusalSlots = tuple[int, int, int]
_ExchangeSlots = tuple[int, int, int, int, int, int, int, int]


class Recorder:
    """Counts into one slot table. Labels are remembered with their slots, so a known series costs one lookup."""

    __slots__ = ("_access_log_dropped", "_exchanges", "_refusals", "_single", "_table", "_values", "_worker_restarts")

    def __init__(self, table: SlotTable) -> None:
        self._table = table
        self._values = table.values
        self._exchanges: dict[_RequestLabels, _ExchangeSlots] = {}
        self._refusals: dict[_RequestLabels, _RefusalSlots] = {}
        self._single: dict[tuple[str, tuple[str, ...]], int] = {}
        # Registered at once, so that these show 0 before there was anything to count.
        self._access_log_dropped = self._slot(ACCESS_LOG_DROPPED, ())
        self._worker_restarts = self._slot(WORKER_RESTARTS, ())

    def request(
        self,
        *,
        namespace: str,
        ingress: str,
        service: str,
        from_zone: str,
        to_zone: str,
        locality: str,
        status: int,
        seconds: float,
        endpoint_seconds: float | None,
        request_bytes: int,
        response_bytes: int,
        dollars: float = 0.0,
        blind_dollars: float = 0.0,
        reason: str | None = None,
    ) -> None:
        """Count one request at its end, and the zone decision for it, whose code `reason` is, where there was one.

        `endpoint_seconds` is the time of the last attempt, answered or not; None when no endpoint was picked, and then
        the body bytes (`request_bytes`, `response_bytes`) do not count as bytes between zones. `dollars` is what they
        cost, `blind_dollars` what they would have cost a proxy that does not know zones.
        """
        labels = (namespace, ingress, service, from_zone, to_zone, locality, status // 100, reason)
        values = self._values
        if endpoint_seconds is None:
            refusal = self._refusals.get(labels)
            requests, duration, decisions = refusal if refusal is not None else self._refusal_slots(labels)
        else:
            exchange = self._exchanges.get(labels)
            requests, duration, decisions, endpoint_duration, sent, received, cost, blind_cost = (
                exchange if exchange is not None else self._exchange_slots(labels)
            )
            values[endpoint_duration + bisect_left(BUCKETS_SECONDS, endpoint_seconds)] += 1.0
            values[endpoint_duration + SUM] += endpoint_seconds
            if request_bytes:
                values[sent] += request_bytes
            values[received] += response_bytes
            if blind_dollars or dollars:
                values[cost] += dollars
                values[blind_cost] += blind_dollars
        if reason is not None:
            values[decisions] += 1.0
        values[requests] += 1.0
        values[duration + bisect_left(BUCKETS_SECONDS, seconds)] += 1.0
        values[duration + SUM] += seconds

    def dry_run(self, namespace: str, service: str, reason: str, *, dollars: float) -> None:
        """Count what a policy would have decided, and what the bytes would have cost."""
        self._count(DRY_RUN_DECISIONS, (namespace, service, reason))
        self._count(DRY_RUN_COST, (namespace, service), dollars)

    def retry(self, reason: str) -> None:
        """Count one further attempt; `reason` says what failed before."""
        self._count(RETRIES, (reason,))

    def ejection(self) -> None:
        """Count one ejection of an endpoint."""
        self._count(EJECTIONS, ())

    def error(self, kind: str) -> None:
        """Count one error of a kind out of a closed set: never text that a client chose."""
        self._count(ERRORS, (kind,))

    def access_log_dropped(self, lines: int = 1) -> None:
        """Count access log lines that were dropped."""
        self._values[self._access_log_dropped] += lines

    def worker_restart(self) -> None:
        """Count one worker process that was started in place of another."""
        self._values[self._worker_restarts] += 1.0

    def _count(self, definition: Definition, labels: tuple[str, ...], amount: float = 1.0) -> None:
        slot = self._single.get((definition.name, labels))
        if slot is None:
            slot = self._slot(definition, labels)
            if not is_overflow(slot):
                self._single[definition.name, labels] = slot
        self._values[slot] += amount

    def _refusal_slots(self, labels: _RequestLabels) -> _RefusalSlots:
        slots = self._common_slots(labels)
        if not any(map(is_overflow, slots)):
            self._refusals[labels] = slots
        return slots

    def _exchange_slots(self, labels: _RequestLabels) -> _ExchangeSlots:
        namespace, ingress, service, from_zone, to_zone, locality, _, _ = labels
        slots = (
            *self._common_slots(labels),
            self._slot(ENDPOINT_DURATION, (namespace, ingress, service, locality), HISTOGRAM_WIDTH),
            self._slot(ZONE_BYTES, (namespace, service, from_zone, to_zone, "request")),
            self._slot(ZONE_BYTES, (namespace, service, from_zone, to_zone, "response")),
            self._slot(ZONE_COST, (namespace, service)),
            self._slot(ZONE_BLIND_COST, (namespace, service)),
        )
        # What had no room is not remembered: the memory stays bounded, and each lost observation is counted.
        if not any(map(is_overflow, slots)):
            self._exchanges[labels] = slots
        return slots

    def _common_slots(self, labels: _RequestLabels) -> _RefusalSlots:
        namespace, ingress, service, from_zone, to_zone, locality, hundreds, reason = labels
        code = f"{min(max(hundreds, 1), 5)}xx"
        return (
            self._slot(REQUESTS, (namespace, ingress, service, from_zone, to_zone, locality, code)),
            self._slot(REQUEST_DURATION, (namespace, ingress, service, locality), HISTOGRAM_WIDTH),
            _NO_SLOT if reason is None else self._slot(ZONE_DECISIONS, (namespace, service, reason)),
        )

    def _slot(self, definition: Definition, labels: tuple[str, ...], width: int = 1) -> int:
        return self._table.slot(Key(NUMBERS[definition.name], labels), width)
