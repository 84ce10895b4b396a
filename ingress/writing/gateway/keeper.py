"""Keeps a Service for each Gateway while this replica leads, and says what it knows of the places of Gateways.

`planning` chooses bound ports, `services` decides what is written; here is when one looks, and what the API server
answers. Every replica notes which numbers leave the register; a follower writes nothing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from ingress.findings import Finding, Findings, Severity, Subject
from ingress.objects.kinds import Kind, Service
from ingress.settings.gateway_ports import GatewayServices
from ingress.sources.events import BoundPort, Provisioned
from ingress.sources.inventory import PROVISIONED, Inventory
from ingress.times import ScalableTimes
from ingress.translation.gateway.register import read_register
from ingress.translation.tcp_services import reserved_targets
from ingress.writing.calling import JSON, MERGE_PATCH, Api, ApiAnswer, NoApiAnswer, ask
from ingress.writing.gateway.aliases import due_aliases
from ingress.writing.gateway.in_use import Judgement, JudgementsInUse
from ingress.writing.gateway.looking import USE_SECONDS, look_without_end, until_soon
from ingress.writing.gateway.planning import Departures, planned
from ingress.writing.gateway.services import ServiceForm, ServiceWrite, due_services
from ingress.writing.gateway.surroundings import PlanSurroundings
from ingress.writing.gateway.writer import GatewayCluster
from ingress.writing.patching import FIELD_MANAGER

_LOG = logging.getLogger(__name__)

_NEEDED: Final = (Kind.GATEWAY_CLASS, Kind.GATEWAY, Kind.LISTENER_SET, Kind.SERVICE)
"""Kinds without which a Service could be deleted whose Gateway exists."""

_OLD_DISTRIBUTION: Final = "PreferClose"  # before Kubernetes 1.34
# Named by a server that does not know the newer word. It refuses Services for what a Gateway asks of them, too.
_DISTRIBUTION_FIELD: Final = "trafficDistribution"


class KeeperPace(ScalableTimes, frozen=True, kw_only=True):
    """Times of the keeper; seconds. `leaving_seconds`: a port that has left its Service is served for so long."""

    interval_seconds: float = 30.0
    quiet_seconds: float = 0.1
    retry_seconds: float = 2.0
    leaving_seconds: float = 30.0


class GatewayKeeper:
    """Runs in every replica. Calls `provide` whenever what it knows has changed, `on_findings` with all findings."""

    def __init__(
        self,
        api: Api,
        cluster: GatewayCluster,
        *,
        services: GatewayServices | None,
        surroundings: PlanSurroundings,
        provide: Callable[[Provisioned], None],
        on_findings: Callable[[tuple[Finding, ...]], None] = lambda _: None,
        pace: KeeperPace | None = None,
    ) -> None:
        """Without `services` Gateways share addresses, and only these are looked up."""
        self._api = api
        self._cluster = cluster
        self._services = services
        self._surroundings = surroundings
        self._provide = provide
        self._on_findings = on_findings
        self._pace = pace or KeeperPace()
        self._judgements = JudgementsInUse()
        self._departures = Departures()
        self._provisioned = Provisioned()
        self._done: dict[str, tuple[ServiceWrite, float]] = {}  # and until when the watch may take to report it
        self._distribution = "PreferSameZone"
        self._problem = ""
        self._woken = asyncio.Event()

    def translated(self) -> None:
        """Takes what Services should be from now on, as soon as the workers serve its model."""
        if (judgement := self._cluster.judgement()) is not None:
            self._judgements.offer(judgement)
            self._woken.set()

    def wake(self) -> None:
        """Makes the keeper look soon, because a Service or the leader has changed."""
        self._woken.set()

    def is_settled(self, inventory: Inventory, judgement: Judgement) -> bool:
        """Whether a judgement knows all that this replica has found out about places."""
        if not self._surroundings.is_known or inventory.provisioned != self._provisioned:
            return False
        return not inventory.stamps.changed_after(judgement.seen_at, PROVISIONED)

    async def run(self) -> None:
        """Looks and writes without end. Only cancellation ends it."""
        await look_without_end(
            self._look,
            self._woken,
            of="Services of Gateways",
            interval_seconds=self._pace.interval_seconds,
            quiet_seconds=self._pace.quiet_seconds,
        )

    async def _look(self) -> float:
        """Writes what is due. Returns the seconds until the next look."""
        pace, now = self._pace, time.monotonic()
        if self._cluster.leading():
            await self._surroundings.look(now)
        await until_soon(lambda: self._judgements.are_served(self._cluster.in_use()), seconds=pace.quiet_seconds)
        judgement = self._judgements.current(self._cluster.in_use())
        pause_seconds = USE_SECONDS if self._judgements.waits() else pace.interval_seconds
        if self._services is None:
            self._say(())
            return min(pause_seconds, self._surroundings.pause_seconds)
        inventory = self._cluster.inventory()
        register = read_register(inventory.of(Service), self._services.namespace, self._services.targets)
        self._departures.note(register, now)
        leaving = self._departures.leaving(now, pace.leaving_seconds)
        if not self._cluster.leading():
            self._say(leaving)
        elif judgement is not None and self._is_fresh(inventory, judgement):
            before = self._provisioned.ports
            reserved = self._reserved(inventory, self._services)
            unfit = self._departures.resting() | reserved
            rested = [each for each in self._departures.rested(now) if each not in reserved]
            targets = self._services.targets
            former = [each for each in self._departures.former() if each.target not in reserved]
            plan = planned(judgement.exposures, register, before, targets, unfit=unfit, rested=rested, former=former)
            self._say((*leaving, *plan))
            form = self._surroundings.selector and ServiceForm(
                self._services, self._surroundings.selector, self._distribution
            )
            if form and not await self._carry_out(
                (
                    *due_services(judgement.exposures, plan, register, form),
                    *due_aliases(judgement.exposures, inventory.of(Service), self._services),
                )
            ):
                pause_seconds = min(pause_seconds, pace.retry_seconds)
        else:
            self._say((*leaving, *(each for each in self._provisioned.ports if each not in leaving)))
        return min(pause_seconds, max(0.0, self._departures.next_at(now, pace.leaving_seconds) - now))

    def _reserved(self, inventory: Inventory, services: GatewayServices) -> frozenset[int]:
        """The bound ports to which the Service of our pods leads."""
        own = self._surroundings.own_service
        service = inventory.service(*own) if own is not None else None
        return frozenset(reserved_targets(service, services.targets).values())

    def _is_fresh(self, inventory: Inventory, judgement: Judgement) -> bool:
        """Whether a judgement knows every Gateway there is. Nothing is deleted on hearsay."""
        if not all(map(inventory.knows, _NEEDED)):
            return False
        return not any(inventory.stamps.changed_after(judgement.seen_at, (kind, None)) for kind in _NEEDED[:3])

    async def _carry_out(self, due: tuple[ServiceWrite, ...]) -> bool:
        """Makes the calls. Returns whether all of them are done."""
        is_done = True
        for write in due:
            if not self._cluster.leading():
                return False
            done, until = self._done.get(write.told, (None, 0.0))
            if done == write and time.monotonic() < until:
                is_done = False  # a Service that is deleted as soon as it is made is never seen, and made again
                continue
            answer = await self._answer(write)
            if answer.is_success or answer.status in (404, 409):
                self._done[write.told] = write, time.monotonic() + self._pace.retry_seconds
                self._note("")
                continue
            is_done = False
            if answer.status == 422 and _DISTRIBUTION_FIELD in answer.problem:
                self._distribution = _OLD_DISTRIBUTION
            _LOG.info("the Service %s is not written: %s", write.told, answer.problem)
            self._note(answer.problem)
        self._done = {write.told: self._done[write.told] for write in due if write.told in self._done}
        return is_done

    async def _answer(self, write: ServiceWrite) -> ApiAnswer:
        try:
            return await ask(
                self._api,
                write.verb,
                write.path,
                query={} if write.verb == "DELETE" else {"fieldManager": FIELD_MANAGER},
                body=write.body,
                content_type=MERGE_PATCH if write.verb == "PATCH" else JSON,
            )
        except NoApiAnswer as error:
            _LOG.info("the API server gave no answer to a Service: %s", error)
            return ApiAnswer(status=503)

    def _say(self, ports: tuple[BoundPort, ...]) -> None:
        seen = self._surroundings
        problem = self._problem or seen.problem if self._services is not None else ""
        provisioned = Provisioned(tuple(sorted(set(ports))), seen.addresses, seen.bundles, seen.channel, problem)
        if provisioned != self._provisioned:
            self._provisioned = provisioned
            self._provide(provisioned)

    def _note(self, problem: str) -> None:
        if problem == self._problem:
            return
        self._problem = problem
        findings = Findings()
        if problem and self._services is not None:
            findings.add(
                Subject("Namespace", "", self._services.namespace),
                reason="ServiceRefused",
                message=f"A Service of a Gateway is refused: {problem}. Allow create, patch and delete of services.",
                severity=Severity.DEGRADED,
                effect="New Gateways and ports are not reached, and others stay as they are.",
            )
        self._on_findings(findings.frozen())
