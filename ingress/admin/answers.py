"""Gives the answers of the admin port: readiness, metrics, model, findings, explanations, and the facts of overviews.

An `AdminSource` and an `OverviewSource` over the fleet and what is published. Does not know HTTP, nor who starts what.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import msgspec

from balancer.explain.drafts import complete
from balancer.explain.explanations import Explanation
from balancer.metrics.exposition import Exposition
from balancer.metrics.nginx.rendering import ControllerIdentity
from balancer.metrics.processes import interpreter_text, process_series
from balancer.metrics.slots import Buffer
from balancer.metrics.snapshots import Series
from balancer.metrics.totals import Totals
from balancer.model.publication import RoutingModel
from balancer.runtime.build import build_told
from balancer.workers.fleet import Fleet
from balancer.workers.reports import FleetReport
from balancer.zones.draining import leaves_load_balancers
from ingress.admin.overview.document import FleetPart, Flow, ReplicaFacts, SettingRow
from ingress.admin.overview.fleet import fleet_part
from ingress.admin.overview.in_force import setting_rows
from ingress.admin.overview.listing import peer_rows
from ingress.admin.overview.replica import ClusterStanding, Publishing, replica_facts
from ingress.admin.pages import Document, model_document
from ingress.explain.evidence import Evidence
from ingress.findings import Finding
from ingress.following.publishing import Published, with_report
from ingress.replicas.facts import FleetFacts, fleet_series
from ingress.settings.options import RunOptions
from ingress.sources.inventory import Inventory

_PROCESSES_SECONDS = 5.0  # for how long what the kernel says about processes is shown; reading it takes milliseconds

_NOTHING = RoutingModel()


class Answers:
    """What one replica knows about itself. `draining` is set when it has begun to stop."""

    def __init__(
        self,
        options: RunOptions,
        *,
        fleet: Fleet,
        published: Published,
        totals: Totals,
        objects: Callable[[], Inventory],
        standing: Callable[[], ClusterStanding],
    ) -> None:
        """`objects` returns the cluster's objects that are known now, `standing` how the API server is followed."""
        self._options = options
        self._fleet = fleet
        self._published = published
        self._objects = objects
        self._standing = standing
        self._exposition = Exposition(tables=fleet.tables, clock=time.time, identity=_identity(options), totals=totals)
        self._processes: Mapping[str, Series] = {}
        self._processes_until = 0.0
        self.draining = False
        self.fleet_facts: Callable[[], FleetFacts] = FleetFacts
        """What is known about the conversation with other replicas. Who runs the conversation sets it."""
        self.told_about: Callable[[str], list[str]] = lambda _: []
        """What other replicas told about a Service, in sentences. Who runs the conversation sets it."""
        self.expected_loads: Callable[[], Mapping[tuple[str, str, str], float]] = dict
        """The loads that are expected of endpoints, by namespace, Service and zone. Who keeps the catalog sets it."""
        self.tried_text: Callable[[tuple[str, str]], Awaitable[str]] = _untried
        """What the dry run of a Service would change, in a sentence. Who keeps the counters sets it."""

    # What the admin port asks (AdminSource).

    def readiness(self) -> str | None:
        if self.draining:
            return "draining"
        publication = self._published.publication
        if publication is None:
            return "no configuration yet"
        own, zones = publication.model.own_zone, publication.model.zones
        if leaves_load_balancers(own, zones):
            return f"zone {own.zone} is drained, and zone-drain-replicas lets its replicas leave load balancers"
        if self.fleet_facts().is_away:
            return "what this replica asks fails in all zones and answers other replicas (fleet-readiness)"
        return self._fleet.readiness()

    async def metrics(self) -> list[bytes]:
        report = await self._fleet.report()
        snapshot = msgspec.structs.replace(
            with_report(self._published.snapshot(), report),
            processes=await asyncio.to_thread(process_series, self._fleet.processes()),
            interpreter=await asyncio.to_thread(interpreter_text),
            expected_loads=self.expected_loads(),
            fleet=fleet_series(self.fleet_facts()),
            watch_ages_seconds={(kind,): age for kind, age in self._standing().watch_ages_seconds.items()},
        )
        return await self._exposition.render(snapshot)

    def model(self) -> Document:
        publication = self._published.publication
        if publication is None:
            return {"generation": 0}
        return {"generation": publication.generation, "model": model_document(publication.model)}

    async def health(self) -> list[Document]:
        report = await self._fleet.report()
        return [
            {"backend": backend, "endpoint": endpoint, "state": state, "workers": workers}
            for (backend, endpoint, state), workers in sorted(report.unwell.items())
        ]

    def findings(self) -> list[Document]:
        return [msgspec.to_builtins(finding) for finding in self._published.findings]

    def statuses(self) -> list[Document]:
        return [msgspec.to_builtins(standing) for standing in self._published.standings]

    async def explain(self, url: str, fields: Sequence[str], *, client: str) -> Explanation:
        draft = await self._fleet.explain(url, fields, client=client)
        told = complete(draft, Evidence(self.objects(), self._options.context, findings=self._published.findings))
        if told.service is not None and (more := self.told_about(told.service)):
            told = msgspec.structs.replace(told, steps=(*told.steps, *more))
        if told.service is None or told.dry_run_reason is msgspec.UNSET:
            return told
        namespace, _, name = told.service.partition("/")
        text = await self.tried_text((namespace, name))
        return msgspec.structs.replace(told, dry_run=text or told.dry_run)

    # What the overview is made of (OverviewSource).

    def tables(self) -> Sequence[Buffer]:
        return self._fleet.tables()

    async def report(self, about: tuple[str, str] | None = None) -> FleetReport:
        return await self._fleet.report(about)

    def served(self) -> RoutingModel:
        publication = self._published.publication
        return _NOTHING if publication is None else publication.model

    def present_findings(self) -> tuple[Finding, ...]:
        return self._published.findings

    def objects(self) -> Inventory:
        return self._objects()

    def settings(self) -> Iterable[SettingRow]:
        namespace, _, name = self._options.context.configmap.partition("/")
        config_map = self.objects().config_map(namespace, name)
        return setting_rows(config_map.data if config_map is not None else {}, self._options)

    def fleet(self, own: tuple[Flow, ...]) -> FleetPart:
        served = self.served()
        name = self._options.cluster.pod_name or socket.gethostname()
        return fleet_part(self.fleet_facts(), name, served.own_zone.zone or "", own, served.zones.prices)

    async def replica(self, report: FleetReport, *, restarts: int) -> ReplicaFacts:
        now = asyncio.get_running_loop().time()
        if now >= self._processes_until:
            self._processes_until = now + _PROCESSES_SECONDS
            self._processes = await asyncio.to_thread(process_series, self._fleet.processes())
        options, published = self._options, self._published
        pod = options.cluster.pod_name or ""
        return replica_facts(
            pod=pod,
            source=str(options.source) if options.source is not None else "the cluster",
            own_zone=self.served().own_zone,
            publishing=Publishing(
                published.version,
                build_told(),
                published.publication.generation if published.publication is not None else 0,
                published.published_at_epoch_seconds or 0.0,
                published.translation_seconds,
            ),
            problem=self.readiness() or "",
            cluster=self._standing(),
            report=report,
            processes=self._processes,
            restarts=restarts,
            peers=peer_rows(self.objects(), options.context.own_service, pod=pod, port=options.admin_port),
        )


async def _untried(_service: tuple[str, str]) -> str:
    return ""


def _identity(options: RunOptions) -> ControllerIdentity | None:
    """Who serves, for the metrics of ingress-nginx; None if they are not served."""
    if options.compat_metrics != "nginx":
        return None
    namespace = options.cluster.pod_namespace or options.context.configmap.partition("/")[0]
    pod = options.cluster.pod_name or socket.gethostname()
    return ControllerIdentity(options.context.controller_class, namespace, pod)
