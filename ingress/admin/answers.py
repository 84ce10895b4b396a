"""Gives the answers of the admin port: metrics, model, findings, explanations; and the facts of overviews.

An `OverviewSource` and an `AdminSource` over the fleet and what is published. Does not know HTTP, nor who starts what.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

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
from ingress.admin.overview.document import FleetPart, Flow, ReplicaFacts, SettingRow
from ingress.admin.overview.fleet import fleet_part
from ingress.admin.overview.in_force import setting_rows
from ingress.admin.overview.listing import peer_rows
from ingress.admin.overview.replica import ClusterStanding, Publishing, replica_facts
from ingress.admin.overview.watching import Watching
from ingress.admin.pages import Document, model_document
from ingress.admin.readiness import Readiness
from ingress.explain.evidence import Evidence
from ingress.findings import Finding
from ingress.following.publishing import Published, with_report
from ingress.replicas.facts import FleetFacts, fleet_series
from ingress.settings.options import RunOptions
from ingress.sources.inventory import Inventory

_PROCESSES_SECONDS = 5.0  # for how long what the kernel says about processes is shown; reading it takes milliseconds


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What the answers come from. Functions return what is known now.

    `objects` are those of the cluster, `standing` is how the API server is followed. `fleet_facts` are what the
    conversation with other replicas has brought, `told_about` says in sentences what they told about a Service.
    """

    fleet: Fleet
    published: Published
    readiness: Readiness
    objects: Callable[[], Inventory]
    standing: Callable[[], ClusterStanding]
    fleet_facts: Callable[[], FleetFacts]
    told_about: Callable[[str], list[str]]


class Answers:
    """What one replica answers to its operator (an `AdminSource`)."""

    def __init__(self, options: RunOptions, known: Known, *, totals: Totals, watching: Watching) -> None:
        """`totals` may be shared with whoever reads the same tables. `watching` looks at the counters."""
        self._options = options
        self._known = known
        self._watching = watching
        tables = known.fleet.tables
        self._exposition = Exposition(tables=tables, clock=time.time, identity=_identity(options), totals=totals)

    def readiness(self) -> str | None:
        return self._known.readiness.problem()

    async def metrics(self) -> list[bytes]:
        known = self._known
        report = await known.fleet.report()
        snapshot = msgspec.structs.replace(
            with_report(known.published.snapshot(), report),
            processes=await asyncio.to_thread(process_series, known.fleet.processes()),
            interpreter=await asyncio.to_thread(interpreter_text),
            expected_loads=self._watching.expected_loads(),
            fleet=fleet_series(known.fleet_facts()),
            watch_ages_seconds={(kind,): age for kind, age in known.standing().watch_ages_seconds.items()},
        )
        return await self._exposition.render(snapshot)

    def model(self) -> Document:
        publication = self._known.published.publication
        if publication is None:
            return {"generation": 0}
        return {"generation": publication.generation, "model": model_document(publication.model)}

    async def health(self) -> list[Document]:
        report = await self._known.fleet.report()
        return [
            {"backend": backend, "endpoint": endpoint, "state": state, "workers": workers}
            for (backend, endpoint, state), workers in sorted(report.unwell.items())
        ]

    def findings(self) -> list[Document]:
        return [msgspec.to_builtins(finding) for finding in self._known.published.findings]

    def statuses(self) -> list[Document]:
        return [msgspec.to_builtins(standing) for standing in self._known.published.standings]

    async def explain(self, url: str, fields: Sequence[str], *, client: str) -> Explanation:
        known = self._known
        draft = await known.fleet.explain(url, fields, client=client)
        told = complete(draft, Evidence(known.objects(), self._options.context, findings=known.published.findings))
        if told.service is not None and (more := known.told_about(told.service)):
            told = msgspec.structs.replace(told, steps=(*told.steps, *more))
        if told.service is None or told.dry_run_reason is msgspec.UNSET:
            return told
        namespace, _, name = told.service.partition("/")
        text = await self._watching.tried_text((namespace, name))
        return msgspec.structs.replace(told, dry_run=text or told.dry_run)


class OwnFacts:
    """What the overview of one replica is made of (an `OverviewSource`)."""

    def __init__(self, options: RunOptions, known: Known) -> None:
        self._options = options
        self._known = known
        self._processes: Mapping[str, Series] = {}
        self._processes_until = 0.0

    def tables(self) -> Sequence[Buffer]:
        return self._known.fleet.tables()

    async def report(self, about: tuple[str, str] | None = None) -> FleetReport:
        return await self._known.fleet.report(about)

    def served(self) -> RoutingModel:
        return self._known.published.model

    def present_findings(self) -> tuple[Finding, ...]:
        return self._known.published.findings

    def objects(self) -> Inventory:
        return self._known.objects()

    def settings(self) -> Iterable[SettingRow]:
        namespace, _, name = self._options.context.configmap.partition("/")
        config_map = self.objects().config_map(namespace, name)
        return setting_rows(config_map.data if config_map is not None else {}, self._options)

    def fleet(self, own: tuple[Flow, ...]) -> FleetPart:
        served = self.served()
        name = self._options.cluster.pod_name or socket.gethostname()
        return fleet_part(self._known.fleet_facts(), name, served.own_zone.zone or "", own, served.zones.prices)

    async def replica(self, report: FleetReport, *, restarts: int) -> ReplicaFacts:
        now = asyncio.get_running_loop().time()
        if now >= self._processes_until:
            self._processes_until = now + _PROCESSES_SECONDS
            self._processes = await asyncio.to_thread(process_series, self._known.fleet.processes())
        options, published = self._options, self._known.published
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
            problem=self._known.readiness.problem() or "",
            cluster=self._known.standing(),
            report=report,
            processes=self._processes,
            restarts=restarts,
            peers=peer_rows(self.objects(), options.context.own_service, pod=pod, port=options.admin_port),
        )


def _identity(options: RunOptions) -> ControllerIdentity | None:
    """Who serves, for the metrics of ingress-nginx; None if they are not served."""
    if options.compat_metrics != "nginx":
        return None
    namespace = options.cluster.pod_namespace or options.context.configmap.partition("/")[0]
    pod = options.cluster.pod_name or socket.gethostname()
    return ControllerIdentity(options.context.controller_class, namespace, pod)
