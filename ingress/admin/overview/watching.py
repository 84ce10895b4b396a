"""Looks at the counters every second while somebody watches, else every few seconds, and answers with documents.

Adds clock, lock and turns of the event loop to what `Ledger` knows. Every event is made once, however many look. Does
not know HTTP.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

import msgspec

from balancer.metrics.increments import Increments
from balancer.metrics.kinds import BUCKETS_SECONDS
from balancer.metrics.slots import Buffer
from balancer.metrics.totals import Totals
from balancer.model.publication import RoutingModel
from balancer.runtime.turns import in_turns
from balancer.workers.reports import FleetReport
from ingress.admin.overview.document import FORMAT, PARTS, FleetPart, Flow, Overview, ReplicaFacts, SettingRow, ZoneRow
from ingress.admin.overview.encoding import encoded
from ingress.admin.overview.ledger import Ledger
from ingress.admin.overview.listing import certificate_rows, endpoint_rows, route_rows
from ingress.admin.overview.timeline import TimePoint
from ingress.admin.overview.traffic import ServiceName, flow_rows
from ingress.admin.overview.viewers import Viewer, Viewers
from ingress.findings import Finding
from ingress.sources.inventory import Inventory

_LOG = logging.getLogger(__name__)

_WATCHED_SECONDS = 1.0
_UNWATCHED_SECONDS = 2.0
_REPORT_SECONDS = 1.5  # between questions to the workers, which have requests to serve


class OverviewSource(Protocol):
    """What an overview is made of."""

    def tables(self) -> Sequence[Buffer]:
        """The tables of all counters."""

    def served(self) -> RoutingModel:
        """The model in use; an empty one before the first publication."""

    def present_findings(self) -> tuple[Finding, ...]:
        """All findings, the most harmful first. The same object as long as nothing has changed."""

    def objects(self) -> Inventory:
        """The cluster's objects that are known now."""

    async def report(self, about: tuple[str, str] | None = None) -> FleetReport:
        """What the workers report; see `Fleet.report`."""

    async def replica(self, report: FleetReport, *, restarts: int) -> ReplicaFacts:
        """The facts about this process."""

    def settings(self) -> Iterable[SettingRow]:
        """The settings in force."""

    def fleet(self, own: tuple[Flow, ...]) -> FleetPart:
        """All replicas; `own` are the flows of this one."""


class LiveEvent(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a page is told: everything (`whole`), or what has changed since the last event, with `services` beside it.

    `gone` are Services as `namespace/name`. `timeline` has new points, or all of them. The routes and findings are to
    be read anew when `generation` or `findings_revision` differ from the last event.
    """

    at_epoch_seconds: float
    whole: bool = False
    bounds_seconds: tuple[float, ...] = ()
    replica: ReplicaFacts
    flows: tuple[Flow, ...] = ()
    zones: tuple[ZoneRow, ...] = ()
    gone: tuple[str, ...] = ()
    timeline: tuple[TimePoint, ...] = ()
    findings_revision: int = 0
    finding_counts: Mapping[str, int] = {}


class Watching:
    """Follows one replica. Must be made inside the running loop."""

    def __init__(
        self,
        source: OverviewSource,
        totals: Totals,
        *,
        on_report: Callable[[FleetReport], None] = lambda _: None,
    ) -> None:
        """`totals` may be shared with whoever reads the same tables. `on_report` gets what workers report: also
        without viewers when requests begin to leave a zone, and until they are back.
        """
        self._source = source
        self._on_report = on_report
        self._evacuations = 0.0  # at the last report
        self._increments = Increments(totals)
        self._ledger = Ledger()
        self._lock = asyncio.Lock()
        self._report = FleetReport()
        self._reported_at = float("-inf")
        self._changed: set[ServiceName] = set()
        self._at = 0.0
        self._findings: tuple[Finding, ...] = ()
        self._findings_revision = 0
        self._finding_counts: dict[str, int] = {}
        self.viewers = Viewers()

    async def run(self) -> None:
        """Looks without end. A look that fails is logged, and the next one comes all the same."""
        while True:
            started = asyncio.get_running_loop().time()
            try:
                await self._turn()
            except Exception:
                _LOG.exception("the overview could not be made")
            pause = _WATCHED_SECONDS if self.viewers else _UNWATCHED_SECONDS
            spent = asyncio.get_running_loop().time() - started
            with suppress(TimeoutError):
                async with asyncio.timeout(max(pause - spent, _WATCHED_SECONDS / 2)):
                    await self._somebody_new()

    def expected_loads(self) -> Mapping[tuple[str, str, str], float]:
        """The load that is expected of an endpoint in the own zone, as of the last look."""
        return self._ledger.catalog.expected_loads()

    async def tried_text(self, service: ServiceName) -> str:
        """What the dry run of a Service has shown, in a sentence; empty without one, and before its first request."""
        async with self._lock:
            await self._look()
            return self._ledger.tried_text(service, self._at) if self._ledger.has_tried(service) else ""

    def flows(self) -> tuple[Flow, ...]:
        """The requests of this replica by zones, as of the last look."""
        return flow_rows(self._ledger.traffic, self._source.served().zones.prices)

    async def document(self, parts: Collection[str], *, service: ServiceName | None = None) -> bytes:
        """The document of `/debug/overview` with these parts. With `service`, only the rows that belong to it."""
        async with self._lock:
            await self._look()
            await self._ask_workers(about=service)
            replica = await self._facts()
            model, names = self._source.served(), {service} if service is not None else None
            head = Overview(
                format=FORMAT,
                at_epoch_seconds=self._at,
                bounds_seconds=BUCKETS_SECONDS,
                replica=replica,
                flows=flow_rows(self._ledger.traffic, model.zones.prices) if "flows" in parts else msgspec.UNSET,
                zones=self._ledger.zone_rows(model) if "zones" in parts else msgspec.UNSET,
                certificates=certificate_rows(model) if "certificates" in parts else msgspec.UNSET,
                findings=self._source.present_findings() if "findings" in parts else msgspec.UNSET,
                settings=tuple(self._source.settings()) if "settings" in parts else msgspec.UNSET,
                fleet=self._source.fleet(self.flows()) if "fleet" in parts else msgspec.UNSET,
            )
            return await encoded(head, {name: rows for name, rows in self._long(model, names) if name in parts})

    async def join(self, cut_off: Callable[[], None]) -> Viewer:
        """A new viewer, who is told everything first. Raises `TooManyViewers`."""
        async with self._lock:  # no other event may come before the first one
            viewer = self.viewers.join(cut_off)
            try:
                await self._look()
                await self._ask_workers()
                viewer.tell(await self._event(None, self._ledger.timeline.points()))
            except BaseException:
                self.viewers.leave(viewer)
                raise
        return viewer

    def _long(
        self, model: RoutingModel, names: set[ServiceName] | None
    ) -> Iterable[tuple[str, Iterable[msgspec.Struct]]]:
        ledger, inventory = self._ledger, self._source.objects()
        if names is None:
            yield "services", ledger.rows(self._at)
            yield "routes", route_rows(model, ledger.traffic.routes)
            yield "endpoints", endpoint_rows(model.backends, inventory, self._report)
            return
        backends = [each for each in model.backends if (each.namespace, each.service) in names]
        yield "services", ledger.rows_of(names, self._at)
        yield (
            "routes",
            (row for row in route_rows(model, ledger.traffic.routes) if (row.namespace, row.service) in names),
        )
        yield "endpoints", endpoint_rows(backends, inventory, self._report)

    async def _turn(self) -> None:
        async with self._lock:
            await self._look()
            point = self._ledger.timeline.note(self._ledger.traffic.whole, now=self._at)
            if self.viewers or self._has_sick_zones():
                await self._ask_workers()
            if not self.viewers:
                return
            changed = self._changed
            self._changed = set()
            self.viewers.tell(await self._event(changed, (point,) if point is not None else ()))

    async def _look(self) -> None:
        """Reads the counters and follows the model."""
        await in_turns(self._looking())
        self._changed |= self._ledger.take_changed()

    def _looking(self) -> Generator[None, None, None]:
        ledger = self._ledger
        for increments in self._increments.look(self._source.tables()):
            ledger.traffic.add(increments)
            yield
        now = time.time()
        self._at = now
        yield from ledger.catalog.follow(self._source.served(), now=now)
        ledger.dry_runs.follow(ledger.catalog.services, ledger.traffic.services, now)

    async def _ask_workers(self, *, about: ServiceName | None = None) -> None:
        """Asks the workers, unless they were asked a moment ago; `about` a Service in any case."""
        if about is not None or self._at - self._reported_at >= _REPORT_SECONDS:
            self._report = await self._source.report(about)
            self._reported_at = self._at
            self._changed |= self._ledger.take_report(self._report)
            self._evacuations = self._ledger.traffic.evacuations
            self._on_report(self._report)

    def _has_sick_zones(self) -> bool:
        """Whether requests leave a zone because its answers fail, or have begun to since the last report."""
        is_news = self._ledger.traffic.evacuations != self._evacuations
        return is_news or any(zone.begun is not None for zone in self._report.zones)

    async def _facts(self) -> ReplicaFacts:
        return await self._source.replica(self._report, restarts=int(self._ledger.traffic.restarts))

    async def _event(self, changed: set[ServiceName] | None, points: tuple[TimePoint, ...]) -> bytes:
        """An event as it goes on the wire; without `changed` about everything."""
        model, ledger = self._source.served(), self._ledger
        self._count_findings()
        is_whole = changed is None
        gone = set() if changed is None else changed - ledger.catalog.services.keys()
        head = LiveEvent(
            at_epoch_seconds=self._at,
            whole=is_whole,
            bounds_seconds=BUCKETS_SECONDS if is_whole else (),
            replica=await self._facts(),
            flows=flow_rows(ledger.traffic, model.zones.prices),
            zones=ledger.zone_rows(model),
            gone=tuple("/".join(name) for name in sorted(gone)),
            timeline=points,
            findings_revision=self._findings_revision,
            finding_counts=self._finding_counts,
        )
        rows = ledger.rows(self._at) if changed is None else ledger.rows_of(changed, self._at)
        return b"data: %b\n\n" % await encoded(head, {"services": rows})

    def _count_findings(self) -> None:
        findings = self._source.present_findings()
        if findings is not self._findings:
            self._findings = findings
            self._findings_revision += 1
            self._finding_counts = dict(Counter(finding.severity.value for finding in findings))

    async def _somebody_new(self) -> None:
        """Waits until somebody looks, if nobody did."""
        if self.viewers:
            await asyncio.Event().wait()
        await self.viewers.arrived.wait()


def parts_of(text: str) -> frozenset[str]:
    """The parts in a comma list; all if it is empty. Raises `ValueError` with a sentence."""
    asked = frozenset(filter(None, text.split(",")))
    if unknown := sorted(asked - set(PARTS)):
        raise ValueError(f"{unknown[0][:50]!r} is not a part: use {', '.join(PARTS)}")
    return asked or frozenset(PARTS)
