"""Merges the reports of all workers at one moment into one, for a scrape.

Does not know how a report is asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from statistics import fmean
from typing import TypeVar

import msgspec

from balancer.workers.messages import MemberReport, WorkerReport, ZoneReport

_Key = TypeVar("_Key")
_Item = TypeVar("_Item")


class FleetReport(msgspec.Struct, frozen=True):
    """Keys are as in `balancer.metrics.exposition.Snapshot`; `left_out` by namespace, Service and zone.

    `unwell` is the number of workers for which an endpoint is in a state, by backend, `address:port` and state.
    `zones` are some of those of backends with failing answers. `members` are the endpoints of the Service that was
    asked about.
    """

    connections: Mapping[tuple[str], float] = {}
    left_out: Mapping[tuple[str, str, str], int] = {}
    unwell: Mapping[tuple[str, str, str], int] = {}
    spill_ratios: Mapping[tuple[str, str], float] = {}
    overload_factors: Mapping[tuple[str, str, str], float] = {}
    event_loop_lag_seconds: float = 0.0
    zones: tuple[ZoneReport, ...] = ()
    members: tuple[MemberReport, ...] = ()


def merged(reports: Sequence[WorkerReport], *, lag_seconds: float = 0.0) -> FleetReport:
    """The report of a fleet. `lag_seconds` is the lag of the parent's event loop.

    Connections add up. Each worker judges endpoints on its own: an endpoint that any of them leaves out is counted
    once. Spill ratios are averaged, because clients are spread over all workers alike. Lag and overload are the worst.
    """
    connections = _grouped(((state,), float(count)) for report in reports for state, count in report.connections)
    left_out = _grouped(
        ((namespace, service, zone), count) for report in reports for namespace, service, zone, count in report.left_out
    )
    ratios = _grouped(
        ((namespace, service), ratio) for report in reports for namespace, service, ratio in report.spill_ratios
    )
    factors = _grouped(
        ((namespace, service, zone), factor)
        for report in reports
        for namespace, service, zone, factor in report.overload_factors
    )
    return FleetReport(
        connections={state: sum(counts) for state, counts in connections.items()},
        left_out={place: max(counts) for place, counts in left_out.items()},
        unwell=Counter(each for report in reports for each in report.unwell),
        spill_ratios={service: fmean(parts) for service, parts in ratios.items()},
        overload_factors={place: max(parts) for place, parts in factors.items()},
        event_loop_lag_seconds=max(chain((lag_seconds,), (report.event_loop_lag_seconds for report in reports))),
        zones=_zones(reports),
        members=_members(reports),
    )


def failure_ratios(zones: Iterable[ZoneReport]) -> dict[tuple[str, str, str], float]:
    """The share of answers that failed, by namespace, Service and zone; over all ports of a Service."""
    groups = _grouped(((each.namespace, each.service, each.zone), each) for each in zones)
    return {
        place: sum(each.failed for each in some) / max(1, sum(each.answers for each in some))
        for place, some in groups.items()
    }


def _zones(reports: Sequence[WorkerReport]) -> tuple[ZoneReport, ...]:
    groups = _grouped(((each.backend, each.zone), each) for report in reports for each in report.zones)
    return tuple(_zone(zones, workers=len(reports)) for zones in groups.values())


def _zone(zones: Sequence[ZoneReport], *, workers: int) -> ZoneReport:
    """A zone as all workers see it: the state of the one that leaves it furthest, the mean of the shares, and sums."""
    return msgspec.structs.replace(
        max(zones, key=lambda each: (each.share, each.seconds)),
        share=sum(each.share for each in zones) / workers,
        answers=sum(each.answers for each in zones),
        failed=sum(each.failed for each in zones),
        other_answers=sum(each.other_answers for each in zones),
        other_failed=sum(each.other_failed for each in zones),
        seconds=max(each.seconds for each in zones),
    )


def _members(reports: Sequence[WorkerReport]) -> tuple[MemberReport, ...]:
    """Requests in flight add up, latencies are averaged, and an ejection lasts as long as that of any worker."""
    groups = _grouped(((each.backend, each.endpoint), each) for report in reports for each in report.members)
    return tuple(_member(members) for members in groups.values())


def _member(members: Sequence[MemberReport]) -> MemberReport:
    latencies = [each.latency_seconds for each in members if each.latency_seconds is not None]
    ejections = [each.ejected_seconds for each in members if each.ejected_seconds is not None]
    return MemberReport(
        backend=members[0].backend,
        endpoint=members[0].endpoint,
        in_flight=sum(each.in_flight for each in members),
        latency_seconds=fmean(latencies) if latencies else None,
        ejected_seconds=max(ejections, default=None),
    )


def _grouped(items: Iterable[tuple[_Key, _Item]]) -> dict[_Key, list[_Item]]:
    groups: dict[_Key, list[_Item]] = {}
    for key, number in items:
        groups.setdefault(key, []).append(number)
    return groups
