"""Builds and runs everything that talks to the API server: what reads the cluster, and what writes to it.

Part of the composition root: builds, starts and stops, and decides nothing. Imported only if a cluster is followed,
because the Kubernetes client is heavy.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
import socket
import time
from collections.abc import Callable, Coroutine
from functools import partial

from aiohttp import web

from balancer.connections.listeners import descriptor_limit
from balancer.runtime.supervising import PAUSE_SECONDS, kept_at_work
from ingress.admin.doors import port_bound
from ingress.findings import Finding, Findings, Severity, Subject
from ingress.following.controller import Controller
from ingress.following.publishing import Published
from ingress.following.zone_modes import ModeChange
from ingress.objects.kinds import OPTIONAL_KINDS, Kind
from ingress.settings.gateway_ports import GatewayServices
from ingress.settings.options import RunOptions
from ingress.sources.contract import CannotFollow
from ingress.sources.events import SourceFindings
from ingress.sources.kubernetes.api import ApiServer
from ingress.sources.kubernetes.credentials import CannotConnect
from ingress.sources.kubernetes.reflecting import ReflectorTimes
from ingress.sources.kubernetes.source import ClusterOptions, KubernetesSource
from ingress.webhook.admission import AdmissionRefusal, review
from ingress.webhook.port import start_webhook
from ingress.writing.address_lookup import AddressLookup, FixedAddresses, NodeAddresses, ServiceAddresses
from ingress.writing.electing import ElectorTimes
from ingress.writing.elector import Elector
from ingress.writing.event_writer import EventWriter
from ingress.writing.gateway.in_use import Judgement
from ingress.writing.gateway.keeper import GatewayKeeper, KeeperPace
from ingress.writing.gateway.surroundings import PlanSurroundings
from ingress.writing.gateway.writer import GatewayCluster, GatewayPace, GatewayStatusWriter
from ingress.writing.mode_notices import mode_notices
from ingress.writing.notices import Notice, is_present, notices_of
from ingress.writing.status_writer import StatusPace, StatusWriter
from ingress.writing.statuses import standings_of

_LOG = logging.getLogger(__name__)

_ALL_ADDRESSES = "::"  # the API server connects from outside of the pod
_NODES_LOOKUP_SECONDS = 30.0
_SURROUNDINGS_SECONDS = 10.0


class Cluster:
    """One API server. `open` it, give `source` to a controller, `start` with this controller, and `close`."""

    def __init__(self, api: ApiServer, options: RunOptions, *, lookup: AddressLookup | None) -> None:
        """`lookup` finds the addresses for the status of Ingresses; None if the options name no source of addresses."""
        self._api = api
        self._lookup = lookup
        self._options = options
        self._namespace = options.cluster.pod_namespace or options.context.configmap.partition("/")[0]
        self._pod = options.cluster.pod_name or socket.gethostname()
        self._tasks: list[asyncio.Task[None]] = []
        self._elector: Elector | None = None
        self._events: EventWriter | None = None
        self._statuses: StatusWriter | None = None
        self._webhook: web.AppRunner | None = None
        self._gateways: GatewayStatusWriter | None = None
        self._keeper: GatewayKeeper | None = None
        self._controller: Controller | None = None
        self._told: tuple[Finding, ...] = ()
        self._objections: tuple[Notice, ...] = ()
        self._modes: dict[tuple[str, str, str], Notice] = {}
        services = options.context.gateway_services
        self.source = KubernetesSource(
            api,
            ClusterOptions(
                configmap=options.context.configmap,
                namespaces=options.context.watch_namespaces,
                node_name=options.context.node_name or "",
                secret_breadth=options.cluster.secret_scope,
                gateways=options.context.reads_gateways,
                service_namespace=services.namespace if services is not None else "",
            ),
            times=ReflectorTimes().scaled(options.cluster.time_scale),
            random=random.random,
        )

    @classmethod
    async def open(cls, options: RunOptions) -> Cluster:
        """Reads credentials. The API server may be away. Raises `CannotFollow`."""
        if options.cluster.webhook_port and options.cluster.webhook_certificate_dir is None:
            raise CannotFollow("--webhook-port needs --webhook-certificate-dir, a folder with tls.crt and tls.key")
        try:
            api = await ApiServer.connect(kubeconfig=options.cluster.kubeconfig)
        except CannotConnect as error:
            if options.cluster.kubeconfig is not None:
                raise CannotFollow(str(error)) from None
            raise CannotFollow(f"--source kubernetes: {error}; outside of a pod give --kubeconfig FILE") from None
        return cls(api, options, lookup=_lookup(api, options))

    async def start(self, controller: Controller, published: Published, in_use: Callable[[], int]) -> None:
        """Takes part in the election, writes, and serves the webhook. Raises `CannotListen`.

        `in_use` says which generation of what is `published` all workers serve.
        """
        self._controller = controller
        if self._options.cluster.update_status:
            self._start_writing(controller, published, in_use)
            self._object()
        if self._options.cluster.webhook_port:
            await self._start_webhook()

    def findings_changed(self, _: tuple[Finding, ...]) -> None:
        """Takes all findings after a translation. Statuses may have changed."""
        if self._statuses is not None:
            self._statuses.wake()
        for writer in (self._gateways, self._keeper):
            if writer is not None:
                writer.translated()

    def findings_told(self, findings: tuple[Finding, ...]) -> None:
        """Takes all findings that have lasted long enough. They become Events, at the start if it is still to come."""
        self._told = findings
        self._object()

    def _object(self) -> None:
        if self._controller is not None:
            self._objections = notices_of(self._told, self._controller.inventory)
            self._say()

    def modes_changed(self, changes: tuple[ModeChange, ...]) -> None:
        """Takes Services that left zonal mode or returned to it. Each change is reported until the next change of its
        Service.
        """
        if self._controller is not None:
            notices = mode_notices(changes, self._controller.inventory, epoch_seconds=time.time())
            self._modes.update((notice.subject, notice) for notice in notices)
            self._say()

    @property
    def leading(self) -> bool | None:
        """Whether this replica writes; None if it takes part in no election."""
        return None if self._elector is None else self._elector.leading

    @property
    def problem(self) -> str:
        """Why the API server cannot be worked with now, in one line; empty if it can."""
        if failing := self.source.failing:
            return f"{failing} watches wait for the API server"
        return "" if self._elector is None else self._elector.problem

    def _say(self) -> None:
        if self._events is not None:
            self._events.follow((*self._objections, *self._modes.values()), present=self._is_present)

    def _is_present(self, notice: Notice) -> bool:
        return self._controller is not None and is_present(notice, self._controller.inventory)

    async def close(self) -> None:
        """Stops writing, hands the Lease over, and closes every connection."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._elector is not None:
            await self._elector.release()
        if self._webhook is not None:
            await self._webhook.cleanup()
        await self._api.close()

    def _start_writing(self, controller: Controller, published: Published, in_use: Callable[[], int]) -> None:
        access, scale = self._options.cluster, self._options.cluster.time_scale
        elector = Elector(
            self._api,
            namespace=self._namespace,
            name=access.election_id,
            identity=f"{self._pod}_{secrets.token_hex(4)}",
            times=ElectorTimes().scaled(scale),
            on_change=self._leader_changed,
            on_findings=partial(self._note, "leader election"),
        )
        self._elector = elector
        self._events = EventWriter(
            self._api,
            instance=self._pod,
            leading=lambda: elector.leading,
            on_findings=partial(self._note, "events"),
        )
        self.source.on_change = self._changed
        self._run(elector.run, "the election of a leader")
        self._run(self._events.run, "writing Events")
        if self._options.context.reads_gateways:
            self._start_gateways(controller, elector, published, in_use)
        if self._lookup is None:
            _LOG.info("no address to publish: give --publish-service or --publish-status-address")
            return
        self._statuses = StatusWriter(
            self._api,
            lookup=self._lookup,
            standings=lambda: standings_of(controller.inventory, self._options.context),
            leading=lambda: elector.leading,
            on_findings=partial(self._note, "status"),
            pace=_pace(self._lookup).scaled(scale),
        )
        self._run(self._statuses.run, "writing statuses")

    def _start_gateways(
        self, controller: Controller, elector: Elector, published: Published, in_use: Callable[[], int]
    ) -> None:
        cluster = GatewayCluster(
            inventory=lambda: controller.inventory,
            versions=lambda: self.source.served,
            judgement=lambda: _judgement(published),
            in_use=in_use,
            leading=lambda: elector.leading,
            settled=lambda *asked: self._keeper is not None and self._keeper.is_settled(*asked),
        )
        options = self._options
        self._gateways = GatewayStatusWriter(
            self._api,
            cluster,
            controller=options.context.controller_class,
            on_findings=partial(self._note, "gateway status"),
            pace=GatewayPace().scaled(options.cluster.time_scale),
        )
        services = options.context.gateway_services
        self._keeper = GatewayKeeper(
            self._api,
            cluster,
            services=services,
            surroundings=PlanSurroundings(
                self._api,
                own_service=options.context.own_service,
                lookup=self._gateway_lookup(services),
                pause_seconds=_SURROUNDINGS_SECONDS * options.cluster.time_scale,
                needs_selector=services is not None,
            ),
            provide=self.source.note,
            on_findings=partial(self._note, "gateway services"),
            pace=KeeperPace().scaled(options.cluster.time_scale),
        )
        self._run(self._gateways.run, "writing statuses of Gateway API")
        self._run(self._keeper.run, "keeping Services of Gateways")

    def _gateway_lookup(self, services: GatewayServices | None) -> AddressLookup | None:
        """Where the addresses of Gateways come from that no Service of theirs has."""
        if services is None:
            return self._lookup
        access = self._options.cluster
        if services.service_type != "NodePort" or not (access.pod_name and access.pod_namespace):
            return None
        return NodeAddresses(self._api, namespace=access.pod_namespace, pod=access.pod_name)

    async def _start_webhook(self) -> None:
        access = self._options.cluster
        assert access.webhook_certificate_dir is not None
        webhook, _ = await start_webhook(
            host=_ALL_ADDRESSES,
            port=access.webhook_port,
            certificate_dir=access.webhook_certificate_dir,
            judge=self._review,
            bound=port_bound(descriptor_limit(), workers=self._options.workers),
        )
        self._webhook = webhook

    def _review(self, body: bytes) -> bytes | AdmissionRefusal:
        """Called in another thread. It only looks up one object in the inventory."""
        context, config_map = self._options.context, None
        if self._controller is not None:
            context = self._controller.context
            namespace, _, name = context.configmap.partition("/")
            config_map = self._controller.inventory.config_map(namespace, name)
        return review(body, context, config_map)

    def _changed(self, kind: Kind) -> None:
        if kind is Kind.INGRESS and self._statuses is not None:
            self._statuses.wake()
        elif kind in OPTIONAL_KINDS and self._gateways is not None:
            self._gateways.wake()
        elif kind is Kind.SERVICE and self._keeper is not None and self._options.context.gateway_services is not None:
            self._keeper.wake()

    def _leader_changed(self, _leading: bool) -> None:
        for writer in (self._statuses, self._gateways, self._keeper, self._events):
            if writer is not None:
                writer.wake()

    def _note(self, part: str, findings: tuple[Finding, ...]) -> None:
        self.source.note(SourceFindings(part, findings))

    def _note_failure(self, what: str, problem: str) -> None:
        findings = Findings()
        if problem:
            findings.add(
                Subject("Replica", self._namespace, self._pod),
                reason="TaskFailed",
                message=f"{what} failed: {problem}.",
                severity=Severity.DEGRADED,
                effect="zonal tries again in some seconds. Requests are served.",
            )
        self._note(what, findings.frozen())

    def _run(self, run: Callable[[], Coroutine[None, None, None]], what: str) -> None:
        pause_seconds = PAUSE_SECONDS * self._options.cluster.time_scale
        kept = kept_at_work(run, what=what, told=partial(self._note_failure, what), pause_seconds=pause_seconds)
        self._tasks.append(asyncio.get_running_loop().create_task(kept))


def _judgement(published: Published) -> Judgement | None:
    if published.publication is None:
        return None
    return Judgement(published.standings, published.exposures, published.publication.generation, published.seen_at)


def _pace(lookup: AddressLookup) -> StatusPace:
    """A Service is one small object; the nodes of our pods take a list, and one request for each node."""
    return StatusPace(lookup_seconds=_NODES_LOOKUP_SECONDS) if isinstance(lookup, NodeAddresses) else StatusPace()


def _lookup(api: ApiServer, options: RunOptions) -> AddressLookup | None:
    """Where the addresses come from: given addresses, else a Service, else the nodes of our pods."""
    access = options.cluster
    if access.publish_status_addresses:
        return FixedAddresses(access.publish_status_addresses)
    if access.publish_service:
        namespace, _, name = access.publish_service.partition("/")
        return ServiceAddresses(api, namespace=namespace, name=name)
    if access.pod_name and access.pod_namespace:
        return NodeAddresses(api, namespace=access.pod_namespace, pod=access.pod_name)
    return None
