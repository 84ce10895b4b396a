"""Computes rates from two documents of each replica, and adds replicas up.

A counter of a replica that has restarted begins anew, so such a replica has no rates until its next document. Does not
know where documents come from, nor how rates are shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from balancer.zones.cost import GIGABYTE, MONTH_SECONDS
from balancer.zones.reasons import Reason
from ingress.admin.overview.document import Flow, Overview, ServiceRow, SickZone, TriedPolicy
from ingress.admin.overview.durations import quantile
from ingress.admin.overview.tried_texts import dry_run_text

Pair = tuple[Overview | None, Overview]
"""An earlier document of a replica, if there is one, and its newest."""


class FlowRates(msgspec.Struct, frozen=True):
    """The traffic from one zone to another. Bytes are those of bodies in both directions."""

    from_zone: str
    to_zone: str
    requests_per_second: float = 0.0
    errors_per_second: float = 0.0
    bytes_per_second: float = 0.0
    dollars_per_month: float = 0.0


class ServiceRates(msgspec.Struct, frozen=True, kw_only=True):
    """One Service on all replicas.

    `modes` and `reasons` are those of any replica; in a dry run requests go as without zones, and `tried_text` says
    what the policy would change. Endpoints are counted by the replica that sees most of them. `spill_ratio` is that of
    the worst replica. `sick_zones` are those of each replica, which judges on its own. A
    quantile is None without requests. `local_share` is None without requests whose both zones are known.
    """

    namespace: str
    name: str
    policies: tuple[str, ...] = ()
    tried_text: str = ""
    modes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    ready: int = 0
    draining: int = 0
    ejected: int = 0
    spill_ratio: float | None = None
    sick_zones: tuple[SickZone, ...] = ()
    requests_per_second: float = 0.0
    errors_per_second: float = 0.0
    local_per_second: float = 0.0
    remote_per_second: float = 0.0
    local_share: float | None = None
    p50_seconds: float | None = None
    p99_seconds: float | None = None
    p99_local_seconds: float | None = None
    p99_remote_seconds: float | None = None
    bytes_per_second: float = 0.0
    dollars_per_month: float = 0.0
    blind_dollars_per_month: float = 0.0
    retries_per_second: float = 0.0

    @property
    def saved_per_month(self) -> float:
        """Dollars in 30 days less than a proxy that does not know zones would cost."""
        return self.blind_dollars_per_month - self.dollars_per_month


class TrafficRates(msgspec.Struct, frozen=True):
    """All replicas together. `counted` replicas of `replicas` have rates. Flows and Services are sorted by name."""

    replicas: int = 0
    counted: int = 0
    flows: tuple[FlowRates, ...] = ()
    services: tuple[ServiceRates, ...] = ()


def traffic(pairs: Sequence[Pair]) -> TrafficRates:
    """The rates of the replicas, added up."""
    comparable = [(before, after) for before, after in pairs if before is not None and _continues(before, after)]
    newest = [after for _, after in pairs]
    return TrafficRates(
        replicas=len(newest),
        counted=len(comparable),
        flows=tuple(_flows(comparable)),
        services=tuple(_services(comparable, newest)),
    )


def _continues(before: Overview, after: Overview) -> bool:
    """Whether the counters of both documents are those of the same process, and time has passed between them."""
    same = before.replica.started_at_epoch_seconds == after.replica.started_at_epoch_seconds
    return same and after.at_epoch_seconds > before.at_epoch_seconds


def _flows(pairs: Iterable[tuple[Overview, Overview]]) -> list[FlowRates]:
    sums: defaultdict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0] * 4)
    for before, after in pairs:
        seconds = after.at_epoch_seconds - before.at_epoch_seconds
        known = {(flow.from_zone, flow.to_zone): flow for flow in before.flows or ()}
        for flow in after.flows or ():
            key = flow.from_zone, flow.to_zone
            rates = _flow_rates(known.get(key) or Flow(*key), flow, seconds)
            sums[key] = [one + other for one, other in zip(sums[key], rates, strict=True)]
    return [FlowRates(*key, *values) for key, values in sorted(sums.items())]


def _flow_rates(before: Flow, after: Flow, seconds: float) -> tuple[float, ...]:
    sent = _grown(before.sent_bytes, after.sent_bytes)
    received = _grown(before.received_bytes, after.received_bytes)
    dollars = (sent * after.sent_price + received * after.received_price) / GIGABYTE
    return (
        _grown(before.requests, after.requests) / seconds,
        _grown(before.errors, after.errors) / seconds,
        (sent + received) / seconds,
        dollars / seconds * MONTH_SECONDS,
    )


def _grown(before: float, after: float) -> float:
    """How much a counter has grown. One that is smaller has begun anew."""
    return after - before if after >= before else 0.0


class _Sums(msgspec.Struct):
    """What is added up about one Service."""

    numbers: list[float] = msgspec.field(default_factory=lambda: [0.0] * 8)
    bounds: tuple[float, ...] = ()
    local: list[float] = []
    remote: list[float] = []

    def add(self, before: ServiceRow, after: ServiceRow, seconds: float, bounds: tuple[float, ...]) -> None:
        grown = map(_grown, _numbers(before), _numbers(after))
        self.numbers = [total + each / seconds for total, each in zip(self.numbers, grown, strict=True)]
        if self.bounds not in ((), bounds):
            return  # a replica of another version counts with other bounds
        self.bounds = bounds
        self.local = _more(self.local, before.durations.local, after.durations.local)
        self.remote = _more(self.remote, before.durations.remote, after.durations.remote)


def _numbers(row: ServiceRow) -> tuple[float, ...]:
    requests = row.requests
    return (
        requests.local,
        requests.remote,
        requests.unknown,
        row.errors,
        row.sent_bytes + row.received_bytes,
        row.dollars,
        row.blind_dollars,
        row.retries,
    )


def _more(counts: list[float], before: Sequence[int], after: Sequence[int]) -> list[float]:
    """`counts` with what has come between two lists of counts, any of which may be empty."""
    size = max(len(counts), len(after))
    filled = [[*each, *[0] * (size - len(each))] for each in (counts, before, after)]
    return [total + _grown(old, new) for total, old, new in zip(*filled, strict=True)]


def _services(pairs: Iterable[tuple[Overview, Overview]], newest: Iterable[Overview]) -> list[ServiceRates]:
    sums: defaultdict[tuple[str, str], _Sums] = defaultdict(_Sums)
    for before, after in pairs:
        seconds = after.at_epoch_seconds - before.at_epoch_seconds
        known = {(row.namespace, row.name): row for row in before.services or ()}
        for row in after.services or ():
            key = row.namespace, row.name
            sums[key].add(known.get(key) or ServiceRow(*key), row, seconds, after.bounds_seconds)
    rows: defaultdict[tuple[str, str], list[ServiceRow]] = defaultdict(list)
    tried: defaultdict[tuple[str, str], list[tuple[TriedPolicy, float]]] = defaultdict(list)
    for document in newest:
        for row in document.services or ():
            rows[row.namespace, row.name].append(row)
            if row.tried is not None:
                tried[row.namespace, row.name].append((row.tried, document.at_epoch_seconds))
    return [_service(key, rows[key], sums[key], tried[key]) for key in sorted(rows)]


def _service(
    key: tuple[str, str], rows: Sequence[ServiceRow], sums: _Sums, tried: Sequence[tuple[TriedPolicy, float]]
) -> ServiceRates:
    local, remote, unknown, errors, size, dollars, blind, retries = sums.numbers
    known = local + remote
    spills = [row.spill_ratio for row in rows if row.spill_ratio is not None]
    return ServiceRates(
        namespace=key[0],
        name=key[1],
        policies=_distinct(row.policy for row in rows),
        tried_text=dry_run_text(tried) if tried else "",
        modes=_distinct("dry run" if row.dry_run else row.mode.value for row in rows),
        reasons=_distinct(Reason.OFF.value if row.dry_run else row.reason for row in rows),
        ready=max(sum(zone.ready for zone in row.zones) for row in rows),
        draining=max(sum(zone.draining for zone in row.zones) for row in rows),
        ejected=max(sum(zone.ejected for zone in row.zones) for row in rows),
        spill_ratio=max(spills, default=None),
        sick_zones=tuple(zone for row in rows for zone in row.sick_zones),
        requests_per_second=local + remote + unknown,
        errors_per_second=errors,
        local_per_second=local,
        remote_per_second=remote,
        local_share=local / known if known else None,
        p50_seconds=quantile(0.5, sums.bounds, sums.local, sums.remote),
        p99_seconds=quantile(0.99, sums.bounds, sums.local, sums.remote),
        p99_local_seconds=quantile(0.99, sums.bounds, sums.local),
        p99_remote_seconds=quantile(0.99, sums.bounds, sums.remote),
        bytes_per_second=size,
        dollars_per_month=dollars * MONTH_SECONDS,
        blind_dollars_per_month=blind * MONTH_SECONDS,
        retries_per_second=retries,
    )


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({value for value in values if value}))
