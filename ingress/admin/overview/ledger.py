"""Puts together what is known about each Service and zone: the model's facts, the workers' reports and the counters.

Says which Services have changed since the last time, so that a viewer gets only those. Time is an argument. Does not
know who reads the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from balancer.model.publication import RoutingModel
from balancer.model.zones import UNKNOWN_ZONE
from balancer.workers.messages import ZoneReport
from balancer.workers.reports import FleetReport
from balancer.zones.departure import DepartureStep
from ingress.admin.overview.catalog import Catalog
from ingress.admin.overview.document import ServiceRow, ServiceZone, SickZone, ZoneRow
from ingress.admin.overview.dry_runs import DryRuns
from ingress.admin.overview.timeline import Timeline
from ingress.admin.overview.traffic import ServiceAccount, ServiceName, TrafficCounts
from ingress.admin.overview.tried_texts import dry_run_text


class Ledger:
    """Everything that one replica tells about Services and zones."""

    __slots__ = ("_factors", "_left_out", "_report", "_sick", "catalog", "dry_runs", "timeline", "traffic")

    def __init__(self) -> None:
        self.catalog = Catalog()
        self.traffic = TrafficCounts()
        self.dry_runs = DryRuns()
        self.timeline = Timeline()
        self._report = FleetReport()
        self._left_out: dict[ServiceName, dict[str, int]] = {}
        self._factors: dict[ServiceName, float] = {}
        self._sick: dict[ServiceName, tuple[SickZone, ...]] = {}

    def take_report(self, report: FleetReport) -> set[ServiceName]:
        """Takes what the workers report. Returns the Services about which they say something new."""
        before = self._report
        self._report = report
        told_before = self._left_out
        self._left_out = {}
        for (namespace, service, zone), count in report.left_out.items():
            self._left_out.setdefault((namespace, service), {})[zone] = count
        self._factors = {}
        for (namespace, service, _), factor in report.overload_factors.items():
            self._factors[namespace, service] = max(factor, self._factors.get((namespace, service), 0.0))
        sick_before = self._sick
        self._sick = _sick_zones(report.zones)
        told = told_before.keys() | self._left_out.keys()
        ratios = {name for name, _ in before.spill_ratios.items() ^ report.spill_ratios.items()}
        sick = sick_before.keys() | self._sick.keys()
        return ratios | sick | {name for name in told if told_before.get(name) != self._left_out.get(name)}

    def take_changed(self) -> set[ServiceName]:
        """The Services whose facts or counters have changed since the last call. Some of them may be gone."""
        return self.catalog.take_changed() | self.traffic.take_changed()

    def rows(self, now: float) -> Iterator[ServiceRow]:
        """All Services as they are at `now`, by namespace and name."""
        return (self._row(name, now) for name in sorted(self.catalog.services))

    def rows_of(self, names: set[ServiceName], now: float) -> Iterator[ServiceRow]:
        """The rows of the Services `names` that there are, by namespace and name."""
        return (self._row(name, now) for name in sorted(names & self.catalog.services.keys()))

    def tried_text(self, name: ServiceName, now: float) -> str:
        """What the dry run of a Service would change, in a sentence; empty without a dry run."""
        tried = self.dry_runs.of(name, self.traffic.services.get(name) or _NOTHING)
        return dry_run_text([(tried, now)]) if tried is not None else ""

    def has_tried(self, name: ServiceName) -> bool:
        """Whether the dry run of a Service has had a request."""
        tried = self.dry_runs.of(name, self.traffic.services.get(name) or _NOTHING)
        return tried is not None and tried.requests > 0

    def _row(self, name: ServiceName, now: float) -> ServiceRow:
        facts, account = self.catalog.services[name], self.traffic.services.get(name) or _NOTHING
        return ServiceRow(
            *name,
            policy=facts.policy,
            dry_run=facts.dry_run,
            tried=self.dry_runs.of(name, account),
            tried_text=self.tried_text(name, now),
            rollout_percent=facts.rollout_percent,
            mode=facts.mode,
            reason=facts.reason.value if facts.reason is not None else "",
            reason_text=facts.reason.explanation if facts.reason is not None else "",
            spill_ratio=self._report.spill_ratios.get(name),
            overload_factor=self._factors.get(name),
            expected_load=facts.expected_load,
            sick_zones=self._sick.get(name, ()),
            zones=self._zones(name, facts.zones),
            changes=self.catalog.changes.get(name, ()),
            requests=account.requests,
            errors=int(account.errors),
            reasons=account.reason_counts,
            durations=account.durations,
            sent_bytes=int(account.sent),
            received_bytes=int(account.received),
            dollars=account.dollars,
            blind_dollars=account.blind_dollars,
            retries=int(account.retries),
            ejections=int(account.ejections),
        )

    def _zones(self, name: ServiceName, zones: tuple[ServiceZone, ...]) -> tuple[ServiceZone, ...]:
        """The zones of a Service, with the endpoints that health leaves out as `ejected` instead of `ready`."""
        left_out = self._left_out.get(name)
        if not left_out:
            return zones
        return tuple(
            msgspec.structs.replace(each, ready=max(each.ready - count, 0), ejected=count)
            if (count := left_out.get(each.zone, 0))
            else each
            for each in zones
        )

    def zone_rows(self, model: RoutingModel) -> tuple[ZoneRow, ...]:
        """Every zone that has an endpoint, a replica or traffic, and the own zone."""
        own, counts = model.own_zone.zone, self.catalog.zones
        ejected = Counter[str]()
        for (_, _, zone), count in self._report.left_out.items():
            ejected[zone] += count
        replicas = dict[str, int](model.zones.replicas or ())
        present = {zone for (zone, _), count in counts.items() if count} | replicas.keys()
        present |= {zone for flow in self.traffic.flows for zone in flow} | ({own} if own else set())
        return tuple(
            ZoneRow(
                name=zone,
                own=zone == (own or UNKNOWN_ZONE),
                drained=zone in model.zones.drained,
                ready=max(counts[zone, True] - ejected[zone], 0),
                draining=counts[zone, False],
                ejected=ejected[zone],
                replicas=replicas.get(zone, 0),
            )
            for zone in sorted(present)
        )


def _sick_zones(reports: tuple[ZoneReport, ...]) -> dict[ServiceName, tuple[SickZone, ...]]:
    """The zones that fail, by Service. Of several ports of a Service the one that is left furthest counts."""
    found: dict[ServiceName, dict[str, SickZone]] = {}
    for each in sorted(reports, key=lambda each: each.share, reverse=True):
        if each.state != DepartureStep.WELL.value:
            found.setdefault((each.namespace, each.service), {}).setdefault(each.zone, _sick_zone(each))
    return {service: tuple(zones[name] for name in sorted(zones)) for service, zones in found.items()}


def _sick_zone(report: ZoneReport) -> SickZone:
    return SickZone(
        zone=report.zone,
        state=report.state,
        share=report.share,
        is_left=report.begun is not None,
        answers=report.answers,
        failed=report.failed,
        other_answers=report.other_answers,
        other_failed=report.other_failed,
        seconds=report.seconds,
        reason=report.reason,
        dry_run=report.dry_run,
        staying=report.staying,
    )


_NOTHING = ServiceAccount()
