"""Counts requests, retries, ejections and errors: finds the slots of each event and adds to them.

Does not know where the slots are stored, nor how they are rendered. Only the thread that owns the slot table may call
this module.
"""

from __future__ import annotations

from bisect import bisect_left
from http import HTTPStatus
from typing import Final, NamedTuple

from balancer.metrics.definitions import (
    ACCESS_LOG_DROPPED,
    DEAR_HANDSHAKES,
    DEFINITIONS,
    DRY_RUN_COST,
    DRY_RUN_DECISIONS,
    EJECTIONS,
    ENDPOINT_DURATION,
    ERRORS,
    GRPC_RESPONSES,
    HOOK_ERRORS,
    HOOK_SECONDS,
    HTTP2_FLOODS,
    HTTP2_RESETS,
    REQUEST_DURATION,
    REQUESTS,
    RESPONSES,
    RETRIES,
    SPANS_DROPPED,
    WORKER_RESTARTS,
    ZONE_BLIND_COST,
    ZONE_BYTES,
    ZONE_COST,
    ZONE_DECISIONS,
    ZONE_EVACUATIONS,
)
from balancer.metrics.kinds import BUCKETS_SECONDS, Definition
from balancer.metrics.nginx.counting import NginxRecorder
from balancer.metrics.slots import NO_TENANT, Key, SlotTable, is_overflow

# A histogram's slots: one for each bucket, not cumulative, then one beyond the last bound, then the sum of seconds.
SUM: Final = len(BUCKETS_SECONDS) + 1
HISTOGRAM_WIDTH: Final = SUM + 1
_SUM: Final = SUM  # for this module, whose compiled form holds it as a number of C

NUMBERS: Final = {definition.name: number for number, definition in enumerate(DEFINITIONS)}
"""The number of each metric in a slot table. Writer and reader must be of the same version."""

# Compared in place of a search, because most times are short.
_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH, _SIXTH = BUCKETS_SECONDS[:6]
_NO_SLOT: Final = -1
_GRPC_STATUSES: Final = tuple(map(str, range(17)))  # grpc/doc/statuscodes.md

# Endpoints choose statuses, so only statuses that IANA lists (as Python knows them) and our own 499 get a series.
_LISTED_STATUSES: Final = frozenset([*map(int, HTTPStatus), 499])

# Namespace, Ingress, Service, own zone, zone of the endpoint, locality, status, reason, error.


class RequestLabels(NamedTuple):
    """Under what a request is counted.

    `status` may be any number that an endpoint sent. `reason` is the code of the zone decision, None without one.
    `error` is the kind of the error that ended the request, or None.
    """

    namespace: str
    ingress: str
    service: str
    from_zone: str
    to_zone: str
    locality: str
    status: int
    reason: str | None = None
    error: str | None = None


ROUTE_REQUESTS: Final = 2**16
"""The number of the requests of each path, which are counted for the page alone: as a metric, each path would have a
series. The first slot counts those without an error of the server, the second those with one.
"""
_ROUTE_WIDTH: Final = 2


class RouteLabels(NamedTuple):
    """Under what the requests of a path are counted: the object that asks for the path, the Service of its main branch,
    and host (empty: every host), path and kind as the model has them.
    """

    namespace: str
    owner: str
    service: str
    host: str
    path: str
    kind: str


Labels = tuple[str, str, str, str, str, str, int, str | None, str | None]
"""What equals `RequestLabels`, and takes less to make."""

_RefusalSlots = tuple[int, int, int, int]
LabelSlots = tuple[int, int, int, int, int, int, int, int, int]
ExchangeSlots = tuple[int, int, int, int, int, int, int, int, int, int]


def _bucket_of(seconds: float) -> int:
    """The place of the bucket for `seconds` in a histogram's slots."""
    if seconds > _SIXTH:
        return bisect_left(BUCKETS_SECONDS, seconds)
    if seconds > _THIRD:
        return 3 if seconds <= _FOURTH else 4 if seconds <= _FIFTH else 5
    return 0 if seconds <= _FIRST else 1 if seconds <= _SECOND else 2


class Recorder:
    """Counts into one slot table. Remembers labels with their slots, so a known series costs one lookup."""

    __slots__ = (
        "_access_log_dropped",
        "_exchanges",
        "_hook_times",
        "_refusals",
        "_single",
        "_table",
        "_values",
        "_worker_restarts",
    )

    def __init__(self, table: SlotTable) -> None:
        self._table = table
        self._values = table.values
        self._exchanges: dict[Labels, LabelSlots] = {}
        self._refusals: dict[RequestLabels, _RefusalSlots] = {}
        self._single: dict[tuple[str, tuple[str, ...]], int] = {}
        self._hook_times: dict[str, int] = {}
        # Registered now, so that both metrics show 0 before the first count.
        self._access_log_dropped = self._slot(ACCESS_LOG_DROPPED, ())
        self._worker_restarts = self._slot(WORKER_RESTARTS, ())

    def for_nginx(self) -> NginxRecorder:
        """Makes a recorder that counts into the same table under the names of ingress-nginx."""
        return NginxRecorder(self._table)

    def request(  # noqa: PLR0917 -- a request passes its facts by position, because names cost a microsecond
        self,
        labels: RequestLabels,
        seconds: float,
        endpoint_seconds: float | None,
        request_bytes: int,
        response_bytes: int,
        dollars: float = 0.0,
        blind_dollars: float = 0.0,
        route: int = _NO_SLOT,
    ) -> ExchangeSlots | None:
        """Counts one request at its end, and its zone decision if the labels have a `reason`.

        `endpoint_seconds` is the time of the last attempt, answered or not. It is None if no endpoint was picked. Then
        the body bytes (`request_bytes`, `response_bytes`) do not count as bytes between zones. `dollars` is the cost of
        the bytes, `blind_dollars` their cost for a proxy that does not know zones. `route` is the slot of `route_slot`.

        Returns the slots in which `exchange` counts further requests with these labels; None if no endpoint was picked,
        or there was no room for them.
        """
        if endpoint_seconds is not None:
            slots = (*(self._exchanges.get(labels) or self._exchange_slots(labels)), route)
            self.exchange(slots, seconds, endpoint_seconds, request_bytes, response_bytes, dollars, blind_dollars)
            return slots if labels in self._exchanges else None
        requests, responses, duration, decisions = self._refusals.get(labels) or self._refusal_slots(labels)
        values = self._values
        if route >= 0:
            values[route] += 1.0
        if decisions >= 0:
            values[decisions] += 1.0
        values[requests] += 1.0
        values[responses] += 1.0
        values[duration + _bucket_of(seconds)] += 1.0
        values[duration + _SUM] += seconds
        return None

    def known(self, labels: Labels) -> LabelSlots | None:
        """The slots, but for that of the route, in which `exchange` counts requests with these labels.

        None if `request` has counted none of them in slots of their own.
        """
        return self._exchanges.get(labels)

    def exchange(  # noqa: PLR0917 -- by position, as above
        self,
        slots: ExchangeSlots,
        seconds: float,
        endpoint_seconds: float,
        request_bytes: int,
        response_bytes: int,
        dollars: float,
        blind_dollars: float,
    ) -> None:
        """Counts one request that had an endpoint, in its `slots`. The other arguments are those of `request`."""
        requests, responses, duration, decisions, endpoint_duration, sent, received, cost, blind_cost, route = slots
        values = self._values
        if route >= 0:
            values[route] += 1.0
        values[endpoint_duration + _bucket_of(endpoint_seconds)] += 1.0
        values[endpoint_duration + _SUM] += endpoint_seconds
        if request_bytes:
            values[sent] += request_bytes
        values[received] += response_bytes
        if blind_dollars or dollars:
            values[cost] += dollars
            values[blind_cost] += blind_dollars
        if decisions >= 0:
            values[decisions] += 1.0
        values[requests] += 1.0
        values[responses] += 1.0
        values[duration + _bucket_of(seconds)] += 1.0
        values[duration + _SUM] += seconds

    def route_slot(self, labels: RouteLabels) -> int:
        """The slot in which requests of a path count whose answers are no errors of the server. The next one is for
        those that are.
        """
        return self._table.slot(Key(ROUTE_REQUESTS, labels), _ROUTE_WIDTH, tenant_at=0)

    def dry_run(self, namespace: str, service: str, reason: str, locality: str, *, dollars: float) -> None:
        """Counts one request under zone-dry-run: reason, locality and cost that it would have had under the policy."""
        self._count(DRY_RUN_DECISIONS, (namespace, service, reason, locality))
        self._count(DRY_RUN_COST, (namespace, service), dollars)

    def retry(self, namespace: str, service: str, reason: str) -> None:
        """Counts one further attempt. `reason` says what failed before."""
        self._count(RETRIES, (namespace, service, reason))

    def ejection(self, namespace: str, service: str) -> None:
        """Counts one ejection of an endpoint."""
        self._count(EJECTIONS, (namespace, service))

    def zone_evacuation(self, namespace: str, service: str, zone: str, *, dry_run: bool) -> None:
        """Counts that requests begin to leave a zone, or in a dry run would."""
        self._count(ZONE_EVACUATIONS, (namespace, service, zone, str(dry_run).lower()))

    def grpc(self, namespace: str, ingress: str, service: str, status: int) -> None:
        """Counts one answer to a gRPC call. `status` may be any number that an endpoint sent."""
        label = _GRPC_STATUSES[status] if status < len(_GRPC_STATUSES) else "other"
        self._count(GRPC_RESPONSES, (namespace, ingress, service, label))

    def error(self, kind: str) -> None:
        """Counts one error. `kind` is from a closed set and never text that a client chose."""
        self._count(ERRORS, (kind,))

    def hook_call(self, hook: str, seconds: float) -> None:
        """Counts one call of a hook. `hook` is a name that the operator gave."""
        slot = self._hook_times.get(hook)
        if slot is None:
            slot = self._slot(HOOK_SECONDS, (hook,), HISTOGRAM_WIDTH)
            if not is_overflow(slot):
                self._hook_times[hook] = slot
        values = self._values
        values[slot if seconds <= _FIRST else slot + _bucket_of(seconds)] += 1.0
        values[slot + _SUM] += seconds

    def hook_error(self, hook: str, outcome: str) -> None:
        """Counts one call of a hook that has no answer. `outcome` is from a closed set."""
        self._count(HOOK_ERRORS, (hook, outcome))

    def http2_reset(self, kind: str, count: int = 1) -> None:
        """Counts requests over HTTP/2 that were broken off. `kind` is from a closed set."""
        self._count(HTTP2_RESETS, (kind,), float(count))

    def http2_flood(self, kind: str) -> None:
        """Counts one connection that was closed because of a flood. `kind` is from a closed set."""
        self._count(HTTP2_FLOODS, (kind,))
        self.error("http2_flood")

    def dear_handshake(self, host: str) -> None:
        """Counts one TLS handshake that took much CPU time. `host` is of the model, and never text of a client."""
        self._count(DEAR_HANDSHAKES, (host,))

    def access_log_dropped(self, lines: int = 1) -> None:
        """Counts access log lines that were dropped."""
        self._values[self._access_log_dropped] += lines

    def spans_dropped(self, reason: str, spans: int) -> None:
        """Counts spans that never reach a collector. `reason` is from a closed set."""
        self._count(SPANS_DROPPED, (reason,), float(spans))

    def worker_restart(self) -> None:
        """Counts one worker process that replaced another."""
        self._values[self._worker_restarts] += 1.0

    def count(self, definition: Definition, labels: tuple[str, ...], amount: float = 1.0) -> None:
        """Adds `amount` to a counter of the table."""
        self._count(definition, labels, amount)

    def observe(self, definition: Definition, labels: tuple[str, ...], seconds: float) -> None:
        """Adds a time to a histogram with the buckets of `BUCKETS_SECONDS`."""
        slot = self._single.get((definition.name, labels))
        if slot is None:
            slot = self._slot(definition, labels, HISTOGRAM_WIDTH)
            if not is_overflow(slot):
                self._single[definition.name, labels] = slot
        self._values[slot + _bucket_of(seconds)] += 1.0
        self._values[slot + _SUM] += seconds

    def _count(self, definition: Definition, labels: tuple[str, ...], amount: float = 1.0) -> None:
        slot = self._single.get((definition.name, labels))
        if slot is None:
            slot = self._slot(definition, labels)
            if not is_overflow(slot):
                self._single[definition.name, labels] = slot
        self._values[slot] += amount

    def _refusal_slots(self, labels: RequestLabels) -> _RefusalSlots:
        labels = _bounded(labels)
        if (known := self._refusals.get(labels)) is not None:
            return known
        slots = self._common_slots(labels)
        if not any(map(is_overflow, slots)):
            self._refusals[labels] = slots
        return slots

    def _exchange_slots(self, labels: RequestLabels) -> LabelSlots:
        labels = _bounded(labels)
        if (known := self._exchanges.get(labels)) is not None:
            return known
        namespace, ingress, service, from_zone, to_zone, locality, _, _, _ = labels
        slots = (
            *self._common_slots(labels),
            self._slot(ENDPOINT_DURATION, (namespace, ingress, service, to_zone, locality), HISTOGRAM_WIDTH),
            self._slot(ZONE_BYTES, (namespace, service, from_zone, to_zone, "request")),
            self._slot(ZONE_BYTES, (namespace, service, from_zone, to_zone, "response")),
            self._slot(ZONE_COST, (namespace, service)),
            self._slot(ZONE_BLIND_COST, (namespace, service)),
        )
        # Slots without room are not remembered, so memory stays bounded and each lost observation is counted.
        if not any(map(is_overflow, slots)):
            self._exchanges[labels] = slots
        return slots

    def _common_slots(self, labels: RequestLabels) -> _RefusalSlots:
        namespace, ingress, service, from_zone, to_zone, locality, status, reason, error = labels
        code = _class_of(status)
        exact = exact_status(status)
        return (
            self._slot(REQUESTS, (namespace, ingress, service, from_zone, to_zone, locality, code)),
            self._slot(RESPONSES, (namespace, ingress, service, exact, error or "")),
            self._slot(REQUEST_DURATION, (namespace, ingress, service, locality), HISTOGRAM_WIDTH),
            _NO_SLOT if reason is None else self._slot(ZONE_DECISIONS, (namespace, service, reason)),
        )

    def _slot(self, definition: Definition, labels: tuple[str, ...], width: int = 1) -> int:
        tenant_at = definition.labels.index("namespace") if "namespace" in definition.labels else NO_TENANT
        return self._table.slot(Key(NUMBERS[definition.name], labels), width, tenant_at=tenant_at)


def exact_status(status: int) -> str:
    """A status as a label: its class, such as 5xx, if IANA does not list it, because endpoints choose statuses."""
    return str(status) if status in _LISTED_STATUSES else _class_of(status)


def _class_of(status: int) -> str:
    return f"{min(max(status // 100 or status, 1), 5)}xx"


def _bounded(labels: RequestLabels) -> RequestLabels:
    """The labels under which slots are remembered. A status that IANA does not list becomes its first digit."""
    status = labels.status
    return labels if status in _LISTED_STATUSES else labels._replace(status=status // 100)
