"""Builds every object of the parent, and decides the order in which they start and stop.

The composition root: other modules make all other decisions. Read this to see what a process is made of.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import time
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import msgspec
from aiohttp import web

from balancer.connections.tls import self_signed
from balancer.explain.drafts import complete
from balancer.explain.explanations import Explanation
from balancer.logs.accesslines import AccessLogFormat
from balancer.metrics.exposition import Exposition
from balancer.metrics.nginx.rendering import ControllerIdentity
from balancer.metrics.processes import interpreter_text, process_series
from balancer.metrics.slots import Buffer
from balancer.metrics.snapshots import Series
from balancer.metrics.totals import Totals
from balancer.model.publication import RoutingModel
from balancer.runtime.garbage import leave_out, short_searches
from balancer.workers.fleet import Fleet
from balancer.workers.inprocess import InProcessFleet
from balancer.workers.logpipes import LogPipes
from balancer.workers.reports import FleetReport
from balancer.workers.spawning import step_back
from balancer.workers.supervised import WorkerSettings
from balancer.workers.supervisor import FleetOptions, ProcessFleet
from ingress.admin.overview.document import ReplicaFacts, SettingRow
from ingress.admin.overview.in_force import setting_rows
from ingress.admin.overview.listing import peer_rows
from ingress.admin.overview.replica import ClusterStanding, Publishing, replica_facts
from ingress.admin.overview.watching import Watching
from ingress.admin.pages import Document, build_admin, model_document, start_admin
from ingress.explain.evidence import Evidence
from ingress.findings import Finding
from ingress.following.controller import Controller
from ingress.following.publishing import Published, with_report
from ingress.following.telling import ModeTelling
from ingress.settings.options import RunOptions
from ingress.sources.contract import Source
from ingress.sources.folder import FolderSource
from ingress.sources.inventory import Inventory
from ingress.sources.resolving import ResolvingSource

if TYPE_CHECKING:
    from ingress.cluster import Cluster

_LOG_FLUSH_SECONDS = 1.0  # from the pipes to standard output, at the end
_PROCESSES_SECONDS = 5.0  # for how long what the kernel says about processes is shown; reading it takes milliseconds


_NOTHING = RoutingModel()
_NO_OBJECTS = Inventory()


class App:
    """The parent of a serving fleet: control plane and admin port. Must be made inside the running loop."""

    def __init__(self, options: RunOptions) -> None:
        self._options = options
        self._log_pipes = LogPipes(sys.stdout.fileno())
        self._fleet = _fleet(options, self._log_pipes)
        self._published = Published(self._fleet.publish)
        self._cluster: Cluster | None = None
        self._controller: Controller | None = None
        totals = Totals()
        self._exposition = Exposition(
            tables=self._fleet.tables, clock=time.time, identity=_identity(options), totals=totals
        )
        self._watching = Watching(self, totals)
        self._processes: Mapping[str, Series] = {}
        self._processes_until = 0.0
        self._stopping = False
        self._signals: asyncio.Queue[signal.Signals] = asyncio.Queue()

    async def run(self) -> bool:
        """Serves until a signal says stop. Returns False if it came before anything was served.

        Raises `CannotListen` and what the source raises if it cannot start.
        """
        self._watch(signal.SIGTERM)
        async with AsyncExitStack() as stack:
            stack.callback(self._log_pipes.close, _LOG_FLUSH_SECONDS)
            controller = await self._unless_told(self._start(stack))
            if controller is None:
                return False
            self._watch(signal.SIGINT)
            stack.enter_context(short_searches())
            following = asyncio.create_task(controller.run())
            try:
                grace_seconds = await self._serve_until_signal(following)
                await self._drain(grace_seconds=grace_seconds)
            finally:
                following.cancel()
                await asyncio.wait({following})
        return True

    async def _start(self, stack: AsyncExitStack) -> Controller:
        """Starts everything, in order. `stack` gets what stops it."""
        controller = self._controller = await self._open()
        stack.push_async_callback(self._close, controller)
        runner, admin_port = await self._start_admin()
        stack.push_async_callback(runner.cleanup)
        stack.push_async_callback(self._fleet.stop)
        self._fleet.open()
        await controller.start()
        if self._cluster is not None:
            await self._cluster.start(controller)
        await self._fleet.start()
        if self._options.workers:
            step_back()  # requests go before translations, scrapes and pages
        ports = f"http={self._fleet.http_port} https={self._fleet.https_port} admin={admin_port}"
        print(f"zonal: serving {ports}", flush=True)
        self._log_pipes.start()
        watching = asyncio.create_task(self._watching.run())
        stack.callback(watching.cancel)
        stack.callback(self._watching.viewers.end)
        return controller

    async def _close(self, controller: Controller) -> None:
        await controller.close()
        self._modes.close()
        if self._cluster is not None:
            await self._cluster.close()

    # What the admin port asks (AdminSource).

    def readiness(self) -> str | None:
        if self._stopping:
            return "draining"
        return "no configuration yet" if self._published.publication is None else self._fleet.readiness()

    async def metrics(self) -> bytearray:
        report = await self._fleet.report()
        ages = self._cluster.source.event_ages() if self._cluster is not None else {}
        snapshot = msgspec.structs.replace(
            with_report(self._published.snapshot(), report),
            processes=await asyncio.to_thread(process_series, self._fleet.processes()),
            interpreter=await asyncio.to_thread(interpreter_text),
            watch_ages_seconds={(kind.value,): age for kind, age in ages.items()},
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

    async def explain(self, url: str, fields: Sequence[str], *, client: str) -> Explanation:
        draft = await self._fleet.explain(url, fields, client=client)
        return complete(draft, Evidence(self.objects(), self._options.context, findings=self._published.findings))

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
        return self._controller.inventory if self._controller is not None else _NO_OBJECTS

    def settings(self) -> Iterable[SettingRow]:
        namespace, _, name = self._options.context.configmap.partition("/")
        config_map = self.objects().config_map(namespace, name)
        return setting_rows(config_map.data if config_map is not None else {}, self._options)

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

    def _standing(self) -> ClusterStanding:
        cluster = self._cluster
        if cluster is None:
            return ClusterStanding()
        ages = {kind.value: age for kind, age in cluster.source.event_ages().items()}
        return ClusterStanding(cluster.leading, cluster.problem, ages)

    # Starting and stopping.

    async def _open(self) -> Controller:
        """The controller of the source that the options name."""
        context, source = self._options.context, self._options.source
        if source is not None:
            self._modes = ModeTelling()
            return Controller(
                self._resolving(FolderSource(source)),
                context=context,
                published=self._published,
                on_model=self._modes.published,
            )
        from ingress.cluster import Cluster

        self._cluster = cluster = await Cluster.open(self._options)
        self._modes = ModeTelling(cluster.modes_changed)
        return Controller(
            self._resolving(cluster.source),
            context=context,
            published=self._published,
            on_findings=cluster.findings_changed,
            on_model=self._modes.published,
        )

    def _resolving(self, source: Source) -> Source:
        return ResolvingSource(source) if self._options.context.allow_external_name else source

    async def _start_admin(self) -> tuple[web.AppRunner, int]:
        options = self._options
        return await start_admin(
            build_admin(self, self._watching, debug_remote=options.debug_remote),
            host=options.admin_address,
            port=options.admin_port,
        )

    def _watch(self, number: signal.Signals) -> None:
        asyncio.get_running_loop().add_signal_handler(number, self._signals.put_nowait, number)

    async def _unless_told(self, starting: Coroutine[None, None, Controller]) -> Controller | None:
        """The result of `starting`; None if a signal came first, which cancels `starting`."""
        task, told = asyncio.ensure_future(starting), asyncio.ensure_future(self._signals.get())
        try:
            await asyncio.wait({task, told}, return_when=asyncio.FIRST_COMPLETED)
            return task.result() if not told.done() else None
        finally:
            told.cancel()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _serve_until_signal(self, following: asyncio.Task[None]) -> float:
        """Serves until a signal. Returns the seconds of grace that the signal allows."""
        leave_out()
        told = asyncio.ensure_future(self._signals.get())
        await asyncio.wait({told, following}, return_when=asyncio.FIRST_COMPLETED)
        if not told.done():
            following.result()  # the control loop never ends on its own: raise what ended it
        return 0.0 if told.result() == signal.SIGINT else self._options.shutdown_grace_seconds

    async def _drain(self, *, grace_seconds: float) -> None:
        self._stopping = True
        draining = asyncio.ensure_future(
            self._fleet.drain(grace_seconds=grace_seconds, limit_seconds=self._options.drain_timeout_seconds)
        )
        told_again = asyncio.ensure_future(self._signals.get())
        await asyncio.wait({draining, told_again}, return_when=asyncio.FIRST_COMPLETED)
        draining.cancel()
        told_again.cancel()


def _identity(options: RunOptions) -> ControllerIdentity | None:
    """Who serves, for the metrics of ingress-nginx; None if they are not served."""
    if options.compat_metrics != "nginx":
        return None
    namespace = options.cluster.pod_namespace or options.context.configmap.partition("/")[0]
    pod = options.cluster.pod_name or socket.gethostname()
    return ControllerIdentity(options.context.controller_class, namespace, pod)


def _fleet(options: RunOptions, log_pipes: LogPipes) -> Fleet:
    access_log, fallback = AccessLogFormat(options.access_log), self_signed()
    compat_metrics = options.compat_metrics == "nginx"
    if options.workers == 0:
        return InProcessFleet(
            address=options.bind_address,
            http_port=options.http_port,
            https_port=options.https_port,
            access_log=access_log,
            fallback=fallback,
            new_log=log_pipes.new_pipe,
            compat_metrics=compat_metrics,
        )
    return ProcessFleet(
        FleetOptions(
            count=options.workers,
            stands_by=options.standby_worker,
            address=options.bind_address,
            http_port=options.http_port,
            https_port=options.https_port,
            settings=WorkerSettings(
                access_log_format=access_log.value,
                log_level=options.log_level,
                log_format=options.log_format,
                event_loop=options.event_loop,
                compat_metrics=compat_metrics,
            ),
            retire_limit_seconds=options.drain_timeout_seconds,
        ),
        fallback=fallback,
        new_log=log_pipes.new_pipe,
    )
