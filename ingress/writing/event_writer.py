"""Writes Kubernetes Events that say what is wrong with an Ingress or a Service.

Only the leader writes, because every replica finds the same problems. Followers remember what is to be said, so that
the next leader says what the last leader did not. Events that fail are dropped and counted, because an Event is only a
help and not worth a queue. Does not know what the Events say.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from http import HTTPStatus

from ingress.findings import Finding, Findings, Severity, Subject
from ingress.writing.calling import Api, NoApiAnswer, ask
from ingress.writing.notices import EVENTS_PATH, Notice, NoticeLimits, Notices, encode_event

_LOG = logging.getLogger(__name__)

_IDLE_SECONDS = 60.0
"""The longest wait if no notice waits. Every change wakes the writer."""


class EventWriter:
    """Writes Events while `run` runs and `leading` is true. `instance` is the name of our pod.

    `written` counts Events, `failed` counts Events that the API server did not accept.
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
        """`on_findings` is called with all findings whenever they change."""
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
        """The number of notices that were dropped without being sent, because there were too many."""
        return self._notices.dropped

    def follow(self, notices: Iterable[Notice], *, present: Callable[[Notice], bool] = lambda _: True) -> None:
        """Takes everything that there is to say now. Call it after each translation, on followers as well.

        `present` says whether the object of a notice still exists.
        """
        self._notices.follow(notices, time.monotonic(), present=present)
        self.wake()

    def wake(self) -> None:
        """Makes the writer look soon, because the leader has changed."""
        self._woken.set()

    async def run(self) -> None:
        """Writes Events without end. Only cancellation ends it."""
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
        except NoApiAnswer as error:
            self.failed += 1
            _LOG.debug("an Event is dropped: %s", error)
            return
        self._note(refused=answer.status == HTTPStatus.FORBIDDEN)
        if answer.is_success:
            self.written += 1
        elif answer.status != 409:  # 409: the previous leader already wrote the Event
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
                severity=Severity.COSMETIC,
                effect="Findings about an Ingress are only in /debug/findings and the log.",
            )
        self._on_findings(findings.frozen())
