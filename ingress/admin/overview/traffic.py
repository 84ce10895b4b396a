"""Adds up what the counter tables say about zones and Services, increment by increment.

Keeps one account for each pair of zones, for each Service, for each path and for the whole replica. Does not know where
increments come from, nor which Services and paths still exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from balancer.metrics.definitions import (
    DRY_RUN_COST,
    DRY_RUN_DECISIONS,
    EJECTIONS,
    REQUEST_DURATION,
    REQUESTS,
    RETRIES,
    WORKER_RESTARTS,
    ZONE_BLIND_COST,
    ZONE_BYTES,
    ZONE_COST,
    ZONE_DECISIONS,
    ZONE_EVACUATIONS,
)
from balancer.metrics.increments import Increment
from balancer.metrics.recorder import NUMBERS, ROUTE_REQUESTS, SUM
from balancer.model.zones import UNKNOWN_ZONE, Zone, ZonePrices
from balancer.zones.cost import price
from balancer.zones.reasons import Reason
from ingress.admin.overview.document import DurationCounts, Flow, LocalityCounts

_Adder = Callable[[tuple[str, ...], int, float], None]

ServiceName = tuple[str, str]
"""Namespace and name."""

_SPILLS = frozenset(
    {Reason.SPILL_LOAD.value, Reason.SPILL_ERRORS.value, Reason.SPILL_HEALTH.value, Reason.RETRY_OTHER_ZONE.value}
)
"""The reasons of requests that leave a zone whose endpoints would have been preferred."""


class FlowAccount(msgspec.Struct):
    """What went from one zone to another."""

    requests: float = 0.0
    errors: float = 0.0
    sent: float = 0.0
    received: float = 0.0


class RouteAccount(msgspec.Struct):
    """What was asked of one path. `errors` are answers of the server's fault, a part of all `requests`."""

    requests: float = 0.0
    errors: float = 0.0


class ServiceAccount(msgspec.Struct):
    """What one Service got, or all of them together. The buckets count requests by duration.

    Of `dry_run_requests`, `dry_run_kept` had stayed in their zone under the policy that is tried, and all of them had
    cost `dry_run_dollars`.
    """

    local: float = 0.0
    remote: float = 0.0
    unknown: float = 0.0
    errors: float = 0.0
    sent: float = 0.0
    received: float = 0.0
    dollars: float = 0.0
    blind_dollars: float = 0.0
    dry_run_requests: float = 0.0
    dry_run_kept: float = 0.0
    dry_run_dollars: float = 0.0
    retries: float = 0.0
    ejections: float = 0.0
    local_buckets: list[float] = msgspec.field(default_factory=lambda: [0.0] * SUM)
    remote_buckets: list[float] = msgspec.field(default_factory=lambda: [0.0] * SUM)
    reasons: dict[str, float] = {}

    @property
    def requests(self) -> LocalityCounts:
        """Requests by locality."""
        return LocalityCounts(int(self.local), int(self.remote), int(self.unknown))

    @property
    def durations(self) -> DurationCounts:
        """Requests by duration."""
        return DurationCounts(_counts(self.local_buckets), _counts(self.remote_buckets))

    @property
    def reason_counts(self) -> dict[str, int]:
        """Picks by reason code."""
        return {reason: int(count) for reason, count in sorted(self.reasons.items())}

    @property
    def spilled(self) -> float:
        """Picks that left the zone because of its load or health."""
        return sum(count for reason, count in self.reasons.items() if reason in _SPILLS)


class TrafficCounts:
    """All accounts. `whole` is that of the replica, `restarts` counts workers that replaced others, `evacuations` zones
    that requests began to leave because their answers fail. `routes` are requests by path, by `RouteLabels`.
    """

    __slots__ = ("_adders", "_changed", "evacuations", "flows", "restarts", "routes", "services", "whole")

    def __init__(self) -> None:
        self.flows: dict[tuple[str, str], FlowAccount] = {}
        self.routes: dict[tuple[str, ...], RouteAccount] = {}
        self.services: dict[ServiceName, ServiceAccount] = {}
        self.whole = ServiceAccount()
        self.restarts = 0.0
        self.evacuations = 0.0
        self._changed: set[ServiceName] = set()
        self._adders: dict[int, _Adder] = {
            NUMBERS[REQUESTS.name]: self._requests,
            NUMBERS[REQUEST_DURATION.name]: self._durations,
            NUMBERS[ZONE_DECISIONS.name]: self._decisions,
            NUMBERS[ZONE_BYTES.name]: self._bytes,
            NUMBERS[ZONE_COST.name]: self._into("dollars"),
            NUMBERS[ZONE_BLIND_COST.name]: self._into("blind_dollars"),
            NUMBERS[DRY_RUN_DECISIONS.name]: self._dry_run_decisions,
            NUMBERS[DRY_RUN_COST.name]: self._into("dry_run_dollars"),
            NUMBERS[RETRIES.name]: self._into("retries"),
            NUMBERS[EJECTIONS.name]: self._into("ejections"),
            NUMBERS[WORKER_RESTARTS.name]: self._restarts,
            NUMBERS[ZONE_EVACUATIONS.name]: self._evacuations,
            ROUTE_REQUESTS: self._paths,
        }

    def add(self, increments: Iterable[Increment]) -> None:
        """Adds what tables have counted."""
        adders = self._adders
        for key, offset, amount in increments:
            if (add := adders.get(key.metric)) is not None:
                add(key.labels, offset, amount)

    def take_changed(self) -> set[ServiceName]:
        """The Services whose accounts have changed since the last call."""
        changed = self._changed
        self._changed = set()
        return changed

    def _both(self, namespace: str, service: str) -> tuple[ServiceAccount, ServiceAccount]:
        name = (namespace, service)
        self._changed.add(name)
        if (account := self.services.get(name)) is None:
            account = self.services[name] = ServiceAccount()
        return account, self.whole

    def _into(self, field: str) -> _Adder:
        """What adds to one field of the accounts of a Service, whose names come first among the labels."""

        def add(labels: tuple[str, ...], _offset: int, amount: float) -> None:
            for account in self._both(*labels[:2]):
                setattr(account, field, getattr(account, field) + amount)

        return add

    def _flow(self, from_zone: str, to_zone: str) -> FlowAccount:
        if (flow := self.flows.get((from_zone, to_zone))) is None:
            flow = self.flows[from_zone, to_zone] = FlowAccount()
        return flow

    def _requests(self, labels: tuple[str, ...], _offset: int, amount: float) -> None:
        namespace, _, service, from_zone, to_zone, locality, code = labels
        errors = amount if code == "5xx" else 0.0
        flow = self._flow(from_zone, to_zone)
        flow.requests += amount
        flow.errors += errors
        for account in self._both(namespace, service):
            account.errors += errors
            if locality == "local":
                account.local += amount
            elif locality == "remote":
                account.remote += amount
            else:
                account.unknown += amount

    def _durations(self, labels: tuple[str, ...], offset: int, amount: float) -> None:
        namespace, _, service, locality = labels
        if offset == SUM or locality == "unknown":
            return
        for account in self._both(namespace, service):
            (account.local_buckets if locality == "local" else account.remote_buckets)[offset] += amount

    def _decisions(self, labels: tuple[str, ...], _offset: int, amount: float) -> None:
        namespace, service, reason = labels
        for account in self._both(namespace, service):
            account.reasons[reason] = account.reasons.get(reason, 0.0) + amount

    def _bytes(self, labels: tuple[str, ...], _offset: int, amount: float) -> None:
        namespace, service, from_zone, to_zone, direction = labels
        flow, is_sent = self._flow(from_zone, to_zone), direction == "request"
        if is_sent:
            flow.sent += amount
        else:
            flow.received += amount
        for account in self._both(namespace, service):
            if is_sent:
                account.sent += amount
            else:
                account.received += amount

    def _dry_run_decisions(self, labels: tuple[str, ...], _offset: int, amount: float) -> None:
        namespace, service, _, locality = labels
        for account in self._both(namespace, service):
            account.dry_run_requests += amount
            if locality == "local":
                account.dry_run_kept += amount

    def _restarts(self, _labels: tuple[str, ...], _offset: int, amount: float) -> None:
        self.restarts += amount

    def _evacuations(self, _labels: tuple[str, ...], _offset: int, amount: float) -> None:
        self.evacuations += amount

    def _paths(self, labels: tuple[str, ...], offset: int, amount: float) -> None:
        if (account := self.routes.get(labels)) is None:
            account = self.routes[labels] = RouteAccount()
        account.requests += amount
        if offset:
            account.errors += amount


def flow_rows(traffic: TrafficCounts, prices: ZonePrices) -> tuple[Flow, ...]:
    """The flows, sorted by zones, with the prices that hold now."""
    return tuple(
        Flow(
            from_zone=source,
            to_zone=target,
            requests=int(flow.requests),
            errors=int(flow.errors),
            sent_bytes=int(flow.sent),
            received_bytes=int(flow.received),
            sent_price=price(prices, known_zone(source), known_zone(target)),
            received_price=price(prices, known_zone(target), known_zone(source)),
        )
        for (source, target), flow in sorted(traffic.flows.items())
    )


def known_zone(name: str) -> Zone | None:
    """The zone with a name as counters have it; None for `unknown`."""
    return None if name == UNKNOWN_ZONE else Zone(name)


def _counts(buckets: list[float]) -> tuple[int, ...]:
    return tuple(map(int, buckets)) if any(buckets) else ()
