"""The status writer: keeps status.loadBalancer of our Ingresses right while this replica leads.

Responsible for when to look and how fast to write. What is published is left alone when a replica stops, the last one
as well (ingress-nginx clears it then): an Ingress without an address falls out of DNS, and the next replica corrects
what is wrong. It must not know which addresses are right, nor how a leader is found.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import msgspec

from ingress.findings import Finding, Findings, Subject
from ingress.writing.address_lookup import AddressesUnknown, AddressLookup
from ingress.writing.addresses import Addresses
from ingress.writing.bucket import Bucket
from ingress.writing.calling import MERGE_PATCH, Answer, Api, NoAnswer, ask
from ingress.writing.statuses import Outcome, Standing, Statuses, StatusPatch, outcome_of

_LOG = logging.getLogger(__name__)

_REFUSALS = 3
"""Patches that one namespace may refuse in one look before the rest of it is skipped."""

_NOT_WRITTEN = "Clients and DNS may be told wrong addresses; traffic is served."


class StatusPace(msgspec.Struct, frozen=True, kw_only=True):
    """How often and how fast; seconds."""

    interval_seconds: float = 60.0  # between two looks when nothing is said to have changed
    quiet_seconds: float = 1.0  # after a change: a rollout touches many Ingresses at once
    retry_seconds: float = 10.0  # after a look that did not get everything done
    lookup_seconds: float = 30.0  # how long addresses are taken for true: Ingresses may change each second, they do not
    at_once: int = 4
    per_second: float = 20.0  # five thousand Ingresses in four minutes, and the API server does not notice

    def scaled(self, factor: float) -> StatusPace:
        """All times `factor` times as long."""
        return msgspec.structs.replace(
            self,
            interval_seconds=self.interval_seconds * factor,
            quiet_seconds=self.quiet_seconds * factor,
            retry_seconds=self.retry_seconds * factor,
            lookup_seconds=self.lookup_seconds * factor,
            per_second=self.per_second / factor,
        )


class StatusWriter:
    """Writes for as long as `run` runs and `leading` says so. `standings` is asked in the loop's thread.

    `on_findings` gets the whole set whenever it changes. `written` and `failed` count patches.
    """

    def __init__(
        self,
        api: Api,
        *,
        lookup: AddressLookup,
        standings: Callable[[], Iterable[Standing]],
        leading: Callable[[], bool],
        on_findings: Callable[[tuple[Finding, ...]], None] = lambda _: None,
        pace: StatusPace | None = None,
    ) -> None:
        self._api = api
        self._lookup = lookup
        self._standings = standings
        self._leading = leading
        self._on_findings = on_findings
        self._pace = pace or StatusPace()
        self._statuses = Statuses()
        self._bucket = Bucket(burst=self._pace.at_once, per_second=self._pace.per_second)
        self._addresses: Addresses = ()
        self._looked_up_at = -math.inf
        self._findings: tuple[Finding, ...] = ()
        self._woken = asyncio.Event()
        self.written = 0
        self.failed = 0

    def wake(self) -> None:
        """Look soon: an Ingress or who leads has changed."""
        self._woken.set()

    async def run(self) -> None:
        """Look and write for ever; only cancellation ends it."""
        while True:
            self._woken.clear()
            try:
                pause_seconds = await self._look()
            except Exception:
                _LOG.exception("a look at the statuses failed")  # ours to mend; the next one may do better
                pause_seconds = self._pace.interval_seconds
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_seconds):
                    await self._woken.wait()
            await asyncio.sleep(self._pace.quiet_seconds)

    async def _look(self) -> float:
        """Write what is due; returns the seconds to the next look."""
        if not self._leading():
            self._statuses.note(self._standings())
            self._say(())
            return self._pace.interval_seconds
        findings = Findings()
        await self._find_addresses(findings)
        turn = _Turn(self._statuses.due(self._standings(), self._addresses))
        async with asyncio.TaskGroup() as workers:
            for _ in range(min(self._pace.at_once, turn.count)):
                workers.create_task(self._work(turn))
        turn.report(findings)
        self._say(findings.frozen())
        return self._pause_seconds(turn)

    async def _find_addresses(self, findings: Findings) -> None:
        now = time.monotonic()
        if now - self._looked_up_at < self._pace.lookup_seconds:
            return
        try:
            self._addresses = await self._lookup()
            self._looked_up_at = now
        except AddressesUnknown as error:
            _LOG.info("%s; the last known ones stay", error)
            if error.subject is not None:
                message = f"It gives no addresses: {error}."
                findings.add(error.subject, reason="AddressesUnknown", message=message, effect=_NOT_WRITTEN)

    async def _work(self, turn: _Turn) -> None:
        for patch in turn.patches:
            await self._wait_for_token()
            if not self._leading():  # asked right before each write: the last one must end before another leads
                turn.stop()
            elif not turn.skips(patch):
                await self._write(patch, turn)

    async def _wait_for_token(self) -> None:
        now = time.monotonic()
        wait_seconds = self._bucket.wait_seconds(now)
        self._bucket.take(now)
        await asyncio.sleep(wait_seconds)

    async def _write(self, patch: StatusPatch, turn: _Turn) -> None:
        answer = await self._answer(patch)
        outcome = outcome_of(answer.status)
        if outcome is Outcome.WRITTEN:
            self._statuses.written(patch)
            self.written += 1
        elif outcome is not Outcome.GONE:
            self.failed += 1
            _LOG.info("the status of %s/%s is not written: %s", patch.namespace, patch.name, answer.problem)
        turn.note(patch, outcome, answer=answer)

    async def _answer(self, patch: StatusPatch) -> Answer:
        try:
            return await ask(self._api, "PATCH", patch.path, body=patch.body, content_type=MERGE_PATCH)
        except NoAnswer as error:
            _LOG.info("no answer to a status: %s", error)
            return Answer(status=503)  # what a server says that cannot answer now

    def _pause_seconds(self, turn: _Turn) -> float:
        if not turn.is_unfinished:
            return self._pace.interval_seconds
        return min(max(self._pace.retry_seconds, turn.retry_after_seconds), self._pace.interval_seconds)

    def _say(self, findings: tuple[Finding, ...]) -> None:
        if findings != self._findings:
            self._findings = findings
            self._on_findings(findings)


class _Turn:
    """The patches of one look, shared by those who write them, and what came of them."""

    def __init__(self, patches: tuple[StatusPatch, ...]) -> None:
        self.count = len(patches)
        # In another order each time: one that is refused must not stand in front of the others for ever.
        self.patches: Iterator[StatusPatch] = iter(random.sample(patches, k=len(patches)))
        self.is_unfinished = False
        self.retry_after_seconds = 0.0
        self._refused: dict[str, list[int]] = {}

    def skips(self, patch: StatusPatch) -> bool:
        """Whether the namespace has refused so much that asking again in this look is noise."""
        return len(self._refused.get(patch.namespace, ())) >= _REFUSALS

    def stop(self) -> None:
        """Write nothing more in this look."""
        for _ in self.patches:
            pass

    def note(self, patch: StatusPatch, outcome: Outcome, *, answer: Answer) -> None:
        """What came of one patch."""
        if outcome is Outcome.REFUSED:
            self._refused.setdefault(patch.namespace, []).append(answer.status)
        if outcome in (Outcome.CHANGED, Outcome.BUSY):
            self.is_unfinished = True
            self.retry_after_seconds = max(self.retry_after_seconds, answer.retry_after_seconds or 0.0)
        if outcome is Outcome.BUSY:
            self.stop()  # the others would only add to its troubles

    def report(self, findings: Findings) -> None:
        """What somebody has to change: one finding for each namespace, the same however many are refused."""
        for namespace, statuses in self._refused.items():
            findings.add(
                Subject("Namespace", "", namespace),
                reason="StatusRefused",
                message=f"The status of its Ingresses is refused with HTTP {min(statuses)}: allow patch of "
                "ingresses/status, and see what admission webhooks say.",
                effect=_NOT_WRITTEN,
            )
