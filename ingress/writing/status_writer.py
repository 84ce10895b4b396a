"""Keeps status.loadBalancer of our Ingresses correct while this replica leads.

Decides when to look and how fast to write. A replica that stops leaves the status as it is, even if it is the last one
(ingress-nginx clears the status then): an Ingress without an address falls out of DNS, and the next replica corrects
wrong addresses. Does not know which addresses are correct, nor how a leader is elected.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from ingress.findings import Finding, Findings, Severity, Subject
from ingress.times import ScalableTimes
from ingress.writing.address_lookup import AddressesUnknown, AddressLookup
from ingress.writing.addresses import Addresses
from ingress.writing.calling import Api, ApiAnswer
from ingress.writing.patching import Patcher, Round
from ingress.writing.statuses import CurrentStatus, PatchOutcome, Statuses, StatusPatch

_LOG = logging.getLogger(__name__)

_NOT_WRITTEN = "Clients and DNS may be told wrong addresses; traffic is served."


class StatusPace(ScalableTimes, frozen=True, kw_only=True):
    """How often the writer looks and how fast it writes; seconds."""

    interval_seconds: float = 60.0  # between two looks if nothing has changed
    quiet_seconds: float = 1.0  # after a change, because a rollout touches many Ingresses at once
    retry_seconds: float = 10.0  # after a look that did not finish all work
    lookup_seconds: float = 2.5  # between two lookups of our addresses; only the leader asks
    at_once: int = 4
    per_second: float = 20.0  # five thousand Ingresses in four minutes, which is a small load for the API server


class StatusWriter:
    """Writes statuses while `run` runs and `leading` is true. Calls `standings` in the loop's thread.

    Calls `on_findings` with all findings whenever they change.
    """

    def __init__(
        self,
        api: Api,
        *,
        lookup: AddressLookup,
        standings: Callable[[], Iterable[CurrentStatus]],
        leading: Callable[[], bool],
        on_findings: Callable[[tuple[Finding, ...]], None] = lambda _: None,
        pace: StatusPace | None = None,
    ) -> None:
        self._lookup = lookup
        self._standings = standings
        self._leading = leading
        self._on_findings = on_findings
        self._pace = pace or StatusPace()
        self._statuses = Statuses()
        self._patcher: Patcher[StatusPatch] = Patcher(
            api,
            leading=leading,
            at_once=self._pace.at_once,
            burst=self._pace.at_once,
            per_second=self._pace.per_second,
            tell=self._note,
        )
        self._addresses: Addresses = ()
        self._looked_up_at = -math.inf
        self._asked_at = -math.inf
        self._lookup_problem = ""
        self._findings: tuple[Finding, ...] = ()
        self._woken = asyncio.Event()

    @property
    def written(self) -> int:
        """The number of patches that were carried out."""
        return self._patcher.written

    @property
    def failed(self) -> int:
        """The number of patches that were not, but for objects that are gone."""
        return self._patcher.failed

    def wake(self) -> None:
        """Makes the writer look soon, because an Ingress or the leader has changed."""
        self._woken.set()

    async def run(self) -> None:
        """Looks and writes without end. Only cancellation ends it."""
        while True:
            self._woken.clear()
            try:
                pause_seconds = await self._look()
            except Exception:
                _LOG.exception("a look at the statuses failed")  # a bug; the next look may succeed
                pause_seconds = self._pace.interval_seconds
            await self._rest(pause_seconds)
            await asyncio.sleep(self._pace.quiet_seconds)

    async def _rest(self, seconds: float) -> None:
        """Waits for the next look: until `wake` is called, our addresses change, or `seconds` are over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not await self._is_woken_before(self._asked_at + self._pace.lookup_seconds):
                    if not self._leading():
                        self._asked_at = time.monotonic()
                    elif await self._have_addresses_changed():
                        return

    async def _is_woken_before(self, at: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(at - time.monotonic()):
                await self._woken.wait()
        return self._woken.is_set()

    async def _have_addresses_changed(self) -> bool:
        """Looks up our addresses. Returns whether the addresses, or the reason why they are unknown, have changed."""
        before = self._addresses, self._lookup_problem
        try:
            await self._find_addresses(Findings())
        except Exception:
            return False  # a bug; the next look meets it again and logs it
        return before != (self._addresses, self._lookup_problem)

    async def _look(self) -> float:
        """Writes what is due. Returns the seconds until the next look."""
        if not self._leading():
            self._statuses.note(self._standings())
            self._say(())
            return self._pace.interval_seconds
        findings = Findings()
        await self._find_addresses(findings)
        due = self._statuses.due(self._standings(), self._addresses)
        # A random order each time, so that refused patches do not block the others for ever.
        turn = await self._patcher.carry_out(random.sample(due, k=len(due)))
        _note_refusals(turn.refused, findings)
        self._say(findings.frozen())
        return self._pause_seconds(turn)

    async def _find_addresses(self, findings: Findings) -> None:
        now = time.monotonic()
        if now - self._looked_up_at < self._pace.lookup_seconds:
            return
        self._asked_at = now
        try:
            self._addresses = await self._lookup()
            self._looked_up_at = now
            self._lookup_problem = ""
        except AddressesUnknown as error:
            if str(error) != self._lookup_problem:
                _LOG.info("%s; the last known addresses stay in use", error)
            self._lookup_problem = str(error)
            if error.subject is not None:
                message = f"The addresses for the status of Ingresses are unknown: {error}."
                findings.add(
                    error.subject,
                    reason="AddressesUnknown",
                    message=message,
                    severity=Severity.DEGRADED,
                    effect=_NOT_WRITTEN,
                )

    def _note(self, patch: StatusPatch, outcome: PatchOutcome, _: ApiAnswer) -> None:
        if outcome is PatchOutcome.WRITTEN:
            self._statuses.written(patch)

    def _pause_seconds(self, turn: Round[StatusPatch]) -> float:
        if not turn.is_unfinished:
            return self._pace.interval_seconds
        return min(max(self._pace.retry_seconds, turn.retry_after_seconds), self._pace.interval_seconds)

    def _say(self, findings: tuple[Finding, ...]) -> None:
        if findings != self._findings:
            self._findings = findings
            self._on_findings(findings)


def _note_refusals(refused: Mapping[str, Sequence[int]], findings: Findings) -> None:
    """Adds what a person has to change: one finding for each namespace, however many patches it refused."""
    for namespace, statuses in refused.items():
        findings.add(
            Subject("Namespace", "", namespace),
            reason="StatusRefused",
            message=f"The status of its Ingresses is refused with HTTP {min(statuses)}: allow patch of "
            "ingresses/status, and see what admission webhooks say.",
            severity=Severity.DEGRADED,
            effect=_NOT_WRITTEN,
        )
