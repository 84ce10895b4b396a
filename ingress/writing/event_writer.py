"""The event writer: says beside an Ingress or a Service, as a Kubernetes Event, what is wrong with it.

Only the leader writes: every replica finds the same, and each would write it. Followers remember what there is to say,
so that the next leader says what the last one did not. What fails is dropped and counted, because an Event is a help
and never worth a queue. It must not know what is said.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from http import HTTPStatus

from ingress.findings import Finding, Findings, Subject
from ingress.writing.calling import Api, NoAnswer, ask
from ingress.writing.notices import EVENTS_PATH, Notice, NoticeLimits, Notices, encode_event

_LOG = logging.getLogger(__name__)

_IDLE_SECONDS = 60.0
"""How long nothing happens when nothing waits; every change wakes the writer."""


class EventWriter:
    """Says what it is told for as long as `run` runs and `leading` says so. `instance` is the name of our pod.

    `written` counts Events, `failed` those that the API server did not take.
    """

    def __init__(
        self,
        api: Api,
        *,
        instance: str,
        leading: Callable[[], bool],
        on_findings: Callable[[tuple[Finding, ...]], None] = lambda _: None,
        limits: NoticeLimits | None = None,
    ) -> None:
        """`on_findings` gets the whole set whenever it changes."""
        self._on_findings = on_findings
        self._refused = False
        self._api = api
        self._instance = instance
        self._leading = leading
        self._notices = Notices(limits or NoticeLimits())
        self._woken = asyncio.Event()
        self.written = 0
        self.failed = 0

    @property
    def dropped(self) -> int:
        """What was never sent, because there was too much to say."""
        return self._notices.dropped

    def follow(self, notices: Iterable[Notice]) -> None:
        """Everything there is to say now; call it after each translation, on followers as well."""
        self._notices.follow(notices, time.monotonic())
        self.wake()

    def wake(self) -> None:
        """Look soon: who leads has changed."""
        self._woken.set()

    async def run(self) -> None:
        """Say what there is to say for ever; only cancellation ends it."""
        while True:
            self._woken.clear()
            notice = self._notices.take(time.monotonic()) if self._leading() else None
            if notice is not None:
                await self._write(notice)
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pause_seconds()):
                    await self._woken.wait()

    def _pause_seconds(self) -> float:
        wait_seconds = self._notices.wait_seconds(time.monotonic()) if self._leading() else None
        return _IDLE_SECONDS if wait_seconds is None else wait_seconds

    async def _write(self, notice: Notice) -> None:
        body = encode_event(notice, instance=self._instance, epoch_seconds=time.time())
        try:
            answer = await ask(self._api, "POST", EVENTS_PATH.format(namespace=notice.namespace), body=body)
        except NoAnswer as error:
            self.failed += 1
            _LOG.debug("an Event is dropped: %s", error)
            return
        self._note(refused=answer.status == HTTPStatus.FORBIDDEN)
        if answer.is_success:
            self.written += 1
        elif answer.status != 409:  # 409: the last leader said it
            self.failed += 1
            _LOG.debug("an Event is dropped: %s", answer.problem)

    def _note(self, *, refused: bool) -> None:
        if refused == self._refused:
            return
        self._refused = refused
        findings = Findings()
        if refused:
            findings.add(
                Subject("Event", "", ""),
                reason="EventsRefused",
                message="Events cannot be written: allow create of events.events.k8s.io.",
                effect="What is wrong with an Ingress is told by /debug/findings and the log alone.",
            )
        self._on_findings(findings.frozen())
