"""Keeps the statuses of Gateway API right while this replica leads.

`due` decides what is written; here is when one looks, and what the API server answers. A replica that stops leaves
statuses as they are.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from ingress.findings import Finding, Findings, Severity, Subject
from ingress.objects.kinds import OPTIONAL_KINDS, Kind
from ingress.sources.inventory import Inventory
from ingress.times import ScalableTimes
from ingress.writing.calling import Api, ApiAnswer, NoApiAnswer, ask
from ingress.writing.gateway.contests import Key
from ingress.writing.gateway.due import DueWrites, ObjectWrite
from ingress.writing.gateway.in_use import Judgement, JudgementsInUse
from ingress.writing.gateway.looking import USE_SECONDS, look_without_end, until_soon
from ingress.writing.gateway.managers import other_manager
from ingress.writing.patching import FIELD_MANAGER, Patcher
from ingress.writing.statuses import PatchOutcome

_EFFECT: Final = "Statuses may say what is no longer so; traffic is served."


class GatewayPace(ScalableTimes, frozen=True, kw_only=True):
    """How often the writer looks and how fast it writes; seconds."""

    interval_seconds: float = 60.0  # between two looks if nothing has changed
    quiet_seconds: float = 0.1  # after a look, because changes come in bursts
    retry_seconds: float = 2.0  # after a look that did not finish all work
    patience_seconds: float = 30.0  # for kinds that cannot be read
    at_once: int = 8
    per_second: float = 100.0
    burst: int = 100  # so that the time between two looks, and that of a slow answer, is made up for
    look_writes: int = 50  # of one look


class GatewayCluster(msgspec.Struct, frozen=True, kw_only=True):
    """What the writer asks the rest of the process, in the loop's thread.

    `versions` are those at which the API server serves kinds. `judgement` is that of the last translation; None: there
    was none. `in_use` is the generation that all workers of this replica serve. `settled` says whether a judgement
    knows what statuses say of addresses.
    """

    inventory: Callable[[], Inventory]
    versions: Callable[[], Mapping[Kind, str]]
    judgement: Callable[[], Judgement | None]
    in_use: Callable[[], int]
    leading: Callable[[], bool]
    settled: Callable[[Inventory, Judgement], bool] = lambda *_: True


class GatewayStatusWriter:
    """Writes while `run` runs and this replica leads. Calls `on_findings` with all findings whenever they change."""

    def __init__(
        self,
        api: Api,
        cluster: GatewayCluster,
        *,
        controller: str,
        on_findings: Callable[[tuple[Finding, ...]], None] = lambda _: None,
        pace: GatewayPace | None = None,
    ) -> None:
        self._api = api
        self._cluster = cluster
        self._on_findings = on_findings
        self._pace = pace or GatewayPace()
        self._judgements = JudgementsInUse()
        self._writes = DueWrites(controller)
        self._patcher: Patcher[ObjectWrite] = Patcher(
            api,
            leading=cluster.leading,
            at_once=self._pace.at_once,
            burst=self._pace.burst,
            per_second=self._pace.per_second,
            tell=self._note,
        )
        self._findings: tuple[Finding, ...] = ()
        self._managers: dict[Key, str] = {}
        self._first_at: float | None = None
        self._woken = asyncio.Event()

    def translated(self) -> None:
        """Takes what statuses should say from now on, as soon as the workers serve its model."""
        if (judgement := self._cluster.judgement()) is not None:
            self._judgements.offer(judgement)
            self._woken.set()

    def wake(self) -> None:
        """Makes the writer look soon, because an object or the leader has changed."""
        self._woken.set()

    async def run(self) -> None:
        """Looks and writes without end. Only cancellation ends it."""
        await look_without_end(
            self._look,
            self._woken,
            of="statuses of Gateway API",
            interval_seconds=self._pace.interval_seconds,
            quiet_seconds=self._pace.quiet_seconds,
        )

    async def _look(self) -> float:
        """Writes what is due. Returns the seconds until the next look."""
        await until_soon(lambda: self._judgements.are_served(self._cluster.in_use()), seconds=self._pace.quiet_seconds)
        judgement = self._judgements.current(self._cluster.in_use())
        inventory, now = self._cluster.inventory(), time.monotonic()
        if not self._cluster.leading() or judgement is None or not self._knows_all(inventory, now):
            return USE_SECONDS if self._judgements.waits() else self._pace.interval_seconds
        if not self._cluster.settled(inventory, judgement):
            return USE_SECONDS if self._judgements.waits() else self._pace.retry_seconds
        # No more than takes a moment, so that what changes meanwhile comes soon; the rest of the round waits for it.
        due = self._writes.due(
            inventory,
            judgement,
            self._cluster.versions(),
            now=now,
            written_at=datetime.now(UTC).strftime(_TIME),
            most=self._pace.look_writes,
        )
        contested = self._writes.contests.contested(now)
        await self._name_managers(key for key in contested if any(each.key == key for each in due.writes))
        turn = await self._patcher.carry_out(
            due.writes, is_outdated=lambda: self._judgements.current(self._cluster.in_use()) is not judgement
        )
        findings = Findings()
        _note_refusals(turn.refused, findings)
        for key in contested:
            _note_contest(key, self._managers.get(key, ""), findings)
        self._say(findings.frozen())
        if self._judgements.waits():
            return USE_SECONDS
        if turn.is_cut or (due.is_more and not turn.is_stopped):
            return 0.0
        pause_seconds = self._pace.interval_seconds
        if turn.is_unfinished:
            pause_seconds = min(pause_seconds, max(self._pace.retry_seconds, turn.retry_after_seconds))
        return min(pause_seconds, max(0.0, due.next_at - time.monotonic()))

    def _knows_all(self, inventory: Inventory, now: float) -> bool:
        """Whether every kind is known, or was waited for: a kind that may not be read must not stop the others."""
        self._first_at = self._first_at or now
        is_over = now - self._first_at >= self._pace.patience_seconds
        return is_over or all(map(inventory.knows, OPTIONAL_KINDS))

    async def _name_managers(self, keys: Iterable[Key]) -> None:
        """Looks up who else writes these statuses, before our own write hides it."""
        for kind, namespace, name in keys:
            path = self._writes.collection((kind, namespace, name), self._cluster.versions())
            try:
                answer = await ask(self._api, "GET", path, query={"fieldSelector": f"metadata.name={name}"})
            except NoApiAnswer:
                continue
            if answer.is_success and (manager := other_manager(answer.body, own=FIELD_MANAGER)):
                self._managers[kind, namespace, name] = manager

    def _note(self, write: ObjectWrite, outcome: PatchOutcome, _: ApiAnswer) -> None:
        self._writes.noted(write, outcome, time.monotonic())

    def _say(self, findings: tuple[Finding, ...]) -> None:
        if findings != self._findings:
            self._findings = findings
            self._on_findings(findings)


_TIME: Final = "%Y-%m-%dT%H:%M:%SZ"


def _note_refusals(refused: Mapping[str, Iterable[int]], findings: Findings) -> None:
    """One finding for each right and namespace, however many patches were refused."""
    for group, statuses in refused.items():
        right, _, namespace = group.partition(" in ")
        findings.add(
            Subject("Namespace", "", namespace) if namespace else Subject("GatewayClass", "", ""),
            reason="StatusRefused",
            message=f"Patches of {right} are refused with HTTP {min(statuses)}: allow patch of {right}, and see what "
            "admission webhooks say.",
            severity=Severity.DEGRADED,
            effect=_EFFECT,
        )


def _note_contest(key: Key, manager: str, findings: Findings) -> None:
    kind, namespace, name = key
    who = f"The field manager {manager!r}" if manager else "Somebody"
    findings.add(
        Subject(kind, namespace, name),
        reason="StatusContested",
        message=f"{who} changes what zonal writes into the status: let only one of them write it.",
        severity=Severity.DEGRADED,
        effect="The status is written less and less often, and says now the one, now the other.",
    )
