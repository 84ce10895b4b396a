"""Builds every object of the parent, and decides the order in which they start and stop.

The composition root: other modules make all other decisions. Read this to see what a process is made of.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import time
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from functools import partial
from socket import gethostname
from typing import TYPE_CHECKING

import msgspec
from aiohttp import web

from balancer.connections.limit_stores import url_in
from balancer.connections.listeners import Port, descriptor_limit
from balancer.connections.tls import self_signed
from balancer.http2 import engines
from balancer.logs.accesslines import AccessLogFormat
from balancer.metrics.totals import Totals
from balancer.model.entry_points import HTTP, HTTPS
from balancer.runtime import tls_sessions
from balancer.runtime.build import build, build_told, is_checkout
from balancer.runtime.garbage import leave_out, short_searches
from balancer.runtime.signals import ENDING, tell_unheeded
from balancer.runtime.supervising import kept_at_work
from balancer.workers.farewell import say_farewell
from balancer.workers.fleet import Fleet
from balancer.workers.inprocess import InProcessFleet
from balancer.workers.logpipes import LogPipes
from balancer.workers.reports import FleetReport
from balancer.workers.spawning import step_back
from balancer.workers.supervised import WorkerSettings
from balancer.workers.supervisor import FleetOptions, ProcessFleet
from ingress.admin.answers import Answers, Known, OwnFacts
from ingress.admin.doors import port_bound
from ingress.admin.overview.fleet import flows_told
from ingress.admin.overview.replica import ClusterStanding
from ingress.admin.overview.watching import Watching
from ingress.admin.pages import build_admin, start_admin
from ingress.admin.readiness import Readiness
from ingress.fleet_trust import FleetTrust
from ingress.following.ageing import AGE_SECONDS
from ingress.following.build_findings import findings_of_build
from ingress.following.controller import Controller
from ingress.following.finding_telling import FindingTelling
from ingress.following.hook_following import HookFollowing
from ingress.following.observed import Observed
from ingress.following.publishing import Published
from ingress.following.telling import ModeTelling
from ingress.replicas.facts import FleetFacts
from ingress.replicas.members import places_of
from ingress.replicas.messages import FlowRow
from ingress.replicas.picks import OwnCounts
from ingress.settings.options import RunOptions
from ingress.sources.contract import Source
from ingress.sources.folder import FolderSource
from ingress.sources.inventory import Inventory
from ingress.sources.resolving import ResolvingSource

if TYPE_CHECKING:
    from ingress.cluster import Cluster
    from ingress.replicas.conversation import Conversation

_LOG = logging.getLogger(__name__)

_LOG_FLUSH_SECONDS = 1.0  # from the pipes to standard output, at the end

_NO_OBJECTS = Inventory()


class App:
    """The parent of a serving fleet: control plane and admin port. Must be made inside the running loop."""

    def __init__(self, options: RunOptions, trust: FleetTrust) -> None:
        self._options = options
        self._log_pipes = LogPipes(sys.stdout.fileno())
        self._trust = trust
        key_secret = trust.credentials.row_secret if trust.credentials is not None else None
        self._fleet = _fleet(options, self._log_pipes, key_secret)
        own = findings_of_build(
            build(),
            is_checkout=is_checkout(),
            shortfall=engines.shortfall(),
            shortfall_of_tls=tls_sessions.shortfall(),
        )
        self._published = Published(self._fleet.publish, own=own)
        self._cluster: Cluster | None = None
        self._controller: Controller | None = None
        self._hooks = HookFollowing(options.hooks)
        self._conversation: Conversation | None = None
        self._readiness = Readiness(self._published, workers=self._fleet.readiness, fleet_facts=self._fleet_facts)
        known = Known(
            fleet=self._fleet,
            published=self._published,
            readiness=self._readiness,
            objects=self._objects,
            standing=self._standing,
            fleet_facts=self._fleet_facts,
            told_about=self._told_about,
        )
        self._totals = Totals()
        self._watching = Watching(OwnFacts(options, known), self._totals, on_report=self._reported)
        self._answers = Answers(options, known, totals=self._totals, watching=self._watching)
        self._observed = Observed()
        self._signals: asyncio.Queue[signal.Signals] = asyncio.Queue()

    async def run(self) -> bool:
        """Serves until a signal says stop. Returns False if it came before anything was served.

        Raises `CannotListen` and what the source raises if it cannot start.
        """
        for number in ENDING:
            self._watch(number)
        tell_unheeded(asyncio.get_running_loop())
        async with AsyncExitStack() as stack:
            stack.callback(self._log_pipes.close, _LOG_FLUSH_SECONDS)
            controller = await self._unless_told(self._start(stack))
            if controller is None:
                return False
            self._watch(signal.SIGINT)
            stack.enter_context(short_searches())
            following = asyncio.create_task(controller.run())
            watching_hooks = asyncio.create_task(
                kept_at_work(partial(self._hooks.run, controller.use_hooks), what="following hooks", told=_not_told)
            )
            stack.callback(watching_hooks.cancel)
            try:
                told = await self._serve_until_signal(following)
                told_at = asyncio.get_running_loop().time()
                await self._drain(told)
            finally:
                following.cancel()
                await asyncio.wait({following})
        _LOG.info("ends %.1f s after %s", asyncio.get_running_loop().time() - told_at, told.name)
        return True

    async def _start(self, stack: AsyncExitStack) -> Controller:
        """Starts everything, in order. `stack` gets what stops it."""
        controller = await self._open()
        self._controller = controller
        self._observed.see = controller.see
        stack.push_async_callback(self._close, controller)
        runner, admin_port = await self._start_admin()
        stack.push_async_callback(runner.cleanup)
        stack.push_async_callback(self._fleet.stop)
        self._fleet.open()
        await controller.start()
        if self._cluster is not None:
            await self._cluster.start(controller, self._published, self._fleet.generation_in_use)
        # Not before: who refuses to start says why, and nothing else.
        _LOG.info("zonal %s begins, data plane %s", self._published.version, build_told())
        await self._fleet.start()
        if self._options.workers:
            step_back()  # requests go before translations, scrapes and pages
        ports = f"http={self._fleet.ports['http']} https={self._fleet.ports['https']} admin={admin_port}"
        await self._start_conversation(stack)
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

    def _objects(self) -> Inventory:
        return self._controller.inventory if self._controller is not None else _NO_OBJECTS

    def _standing(self) -> ClusterStanding:
        cluster = self._cluster
        if cluster is None:
            return ClusterStanding()
        ages = {kind.value: age for kind, age in cluster.source.event_ages().items()}
        return ClusterStanding(cluster.leading, cluster.problem, ages)

    def _fleet_facts(self) -> FleetFacts:
        return FleetFacts() if self._conversation is None else self._conversation.facts()

    def _told_about(self, service: str) -> list[str]:
        return [] if self._conversation is None else self._conversation.told_about(service)

    def _reported(self, report: FleetReport) -> None:
        self._observed.reported(report.zones, at_epoch_seconds=time.time())

    # Starting and stopping.

    async def _open(self) -> Controller:
        """The controller of the source that the options name."""
        context = msgspec.structs.replace(self._options.context, hooks=await self._hooks.open())
        source = self._options.source
        age_seconds = AGE_SECONDS * self._options.cluster.time_scale
        if source is not None:
            self._modes = ModeTelling()
            return Controller(
                self._resolving(FolderSource(source)),
                context=context,
                published=self._published,
                telling=FindingTelling(age_seconds=age_seconds),
                on_model=self._modes.published,
                in_use=self._fleet.generation_in_use,
            )
        from ingress.cluster import Cluster

        cluster = await Cluster.open(self._options)
        self._cluster = cluster
        self._modes = ModeTelling(cluster.modes_changed)
        return Controller(
            self._resolving(cluster.source),
            context=context,
            published=self._published,
            on_findings=cluster.findings_changed,
            telling=FindingTelling(cluster.findings_told, age_seconds=age_seconds),
            on_model=self._modes.published,
            in_use=self._fleet.generation_in_use,
        )

    def _resolving(self, source: Source) -> Source:
        return ResolvingSource(source) if self._options.context.allow_external_name else source

    async def _start_admin(self) -> tuple[web.AppRunner, int]:
        options = self._options
        return await start_admin(
            build_admin(self._answers, self._watching, debug_remote=options.debug_remote),
            host=options.admin_address,
            port=options.admin_port,
            bound=port_bound(descriptor_limit(), workers=options.workers),
        )

    async def _start_conversation(self, stack: AsyncExitStack) -> None:
        """Begins to converse with other replicas, if the options say so."""
        options, credentials = self._options, self._trust.credentials
        if options.peer_port is None or credentials is None:
            return
        from ingress.replicas.conversation import Conversation, ConversationOptions
        from ingress.replicas.sharing import Ends

        counts = OwnCounts(self._totals, self._fleet.tables)
        conversation = Conversation(
            ConversationOptions(
                options.bind_address, options.peer_port, options.peers, options.cluster.pod_name or gethostname()
            ),
            credentials,
            Ends(
                totals=counts.picks,
                answers=counts.answers,
                model=lambda: self._published.model,
                use=self._published.use_fleet,
                memory=self._fleet.among_replicas,
                failing=self._fleet.failing,
                suspect=self._fleet.suspect,
                left=lambda: self._observed.left,
                events=lambda events: self._observed.sick_for_all(event.zone for event in events),
                flows=self._flows,
                places=self._places,
                crowded=self._observed.crowded,
                expired=self._observed.expired,
            ),
        )
        await conversation.start()
        stack.push_async_callback(conversation.close)
        self._conversation = conversation
        conversing = asyncio.create_task(conversation.run())
        stack.callback(conversing.cancel)
        if (leased := self._trust.leased) is not None:
            stack.push_async_callback(leased.api.close)
            leased.leases.on_findings = self._observed.leases
            keeping = asyncio.create_task(kept_at_work(leased.run, what="keeping Leases of replicas", told=_not_told))
            stack.callback(keeping.cancel)

    def _flows(self) -> dict[tuple[str, str], FlowRow]:
        return flows_told(self._watching.flows())

    def _places(self) -> tuple[str, ...]:
        """Where other replicas are, as the Service of all of them tells."""
        return places_of(self._objects(), self._options.context.own_service, port=self._options.peer_port or 0)

    def _watch(self, number: signal.Signals) -> None:
        asyncio.get_running_loop().add_signal_handler(number, self._signals.put_nowait, number)

    async def _unless_told(self, starting: Coroutine[None, None, Controller]) -> Controller | None:
        """The result of `starting`; None if a signal came first, which cancels `starting`."""
        task, told = asyncio.ensure_future(starting), asyncio.ensure_future(self._signals.get())
        try:
            await asyncio.wait({task, told}, return_when=asyncio.FIRST_COMPLETED)
            if not told.done():
                return task.result()
            _LOG.info("%s: ends before anything was served", told.result().name)
            return None
        finally:
            told.cancel()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _serve_until_signal(self, following: asyncio.Task[None]) -> signal.Signals:
        """Serves until a signal, which is returned."""
        leave_out()
        told = asyncio.ensure_future(self._signals.get())
        await asyncio.wait({told, following}, return_when=asyncio.FIRST_COMPLETED)
        if not told.done():
            following.result()  # the control loop never ends on its own: raise what ended it
        return told.result()

    async def _drain(self, told: signal.Signals) -> None:
        """Drains as `told` demands. Another signal breaks the drain off."""
        self._readiness.draining = True
        _LOG.info("%s: drains; /readyz says 503 from now on", told.name)
        options = self._options
        grace_seconds = 0.0 if told == signal.SIGINT else options.shutdown_grace_seconds
        draining = asyncio.ensure_future(
            say_farewell(self._fleet, grace_seconds=grace_seconds, limit_seconds=options.drain_timeout_seconds)
        )
        told_again = asyncio.ensure_future(self._signals.get())
        await asyncio.wait({draining, told_again}, return_when=asyncio.FIRST_COMPLETED)
        if told_again.done():
            _LOG.info("%s: breaks the drain off", told_again.result().name)
        draining.cancel()
        told_again.cancel()


def _not_told(_problem: str) -> None:
    """The log has it."""


def _ports(options: RunOptions) -> tuple[Port, ...]:
    """The ports that workers accept on, by the names of their sockets."""
    gateways = (Port(str(number), number) for number in options.gateway_ports.targets)
    return (Port(HTTP.socket, options.http_port), Port(HTTPS.socket, options.https_port), *gateways)


def _fleet(options: RunOptions, log_pipes: LogPipes, key_secret: bytes | None) -> Fleet:
    access_log, fallback = AccessLogFormat(options.access_log), self_signed()
    compat_metrics = options.compat_metrics == "nginx"
    store = "" if options.limit_store is None else url_in(str(options.limit_store))
    if options.workers == 0:
        return InProcessFleet(
            address=options.bind_address,
            ports=_ports(options),
            access_log=access_log,
            fallback=fallback,
            new_log=log_pipes.new_pipe,
            compat_metrics=compat_metrics,
            limit_store=store,
            key_secret=key_secret,
        )
    return ProcessFleet(
        FleetOptions(
            count=options.workers,
            stands_by=options.standby_worker,
            address=options.bind_address,
            ports=_ports(options),
            settings=WorkerSettings(
                access_log_format=access_log.value,
                log_level=options.log_level,
                log_format=options.log_format,
                event_loop=options.event_loop,
                compat_metrics=compat_metrics,
                limit_store="" if options.limit_store is None else str(options.limit_store),
            ),
            retire_limit_seconds=options.drain_timeout_seconds,
            key_secret=key_secret,
        ),
        fallback=fallback,
        new_log=log_pipes.new_pipe,
    )
