"""The control loop: events into the inventory, and after a holdoff a whole new model out of it.

It knows neither where events come from nor who serves the model. Nothing is published before every required kind is
known, and nothing that fails here takes the last model away.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator

from ingress.findings import Finding
from ingress.holdoff import Holdoff
from ingress.inventory import Inventory
from ingress.publishing import Published
from ingress.sources.events import Event
from ingress.translation.assembly import Translation, translate
from ingress.translation.certificates import CertificateShelf
from ingress.translation.context import TranslationContext

_LOG = logging.getLogger(__name__)


class Controller:
    """Follows one source. `start` must have returned before `run`."""

    __slots__ = ("_context", "_events", "_holdoff", "_inventory", "_published", "_shelf")

    def __init__(self, events: AsyncIterator[Event], *, context: TranslationContext, published: Published) -> None:
        self._events = events
        self._context = context
        self._published = published
        self._inventory = Inventory()
        self._holdoff = Holdoff()
        self._shelf = CertificateShelf()

    async def start(self) -> None:
        """Wait for the source's first event. Raises what the source raises when there is nothing to read from."""
        self._apply(await anext(self._events))

    async def run(self) -> None:
        """Follow the source for ever, or until it ends."""
        following = asyncio.ensure_future(anext(self._events))
        try:
            while True:
                await asyncio.wait({following}, timeout=self._seconds_until_due())
                if following.done():
                    self._apply(following.result())
                    following = asyncio.ensure_future(anext(self._events))
                if self._seconds_until_due() == 0.0:
                    await self._publish()
        except StopAsyncIteration:
            if self._seconds_until_due() is not None:
                await self._publish()
        finally:
            following.cancel()

    def _apply(self, event: Event) -> None:
        if self._inventory.apply(event):
            self._holdoff.touch(time.monotonic())

    def _seconds_until_due(self) -> float | None:
        due_at = self._holdoff.due_at()
        if due_at is None or not self._inventory.complete:
            return None  # the list that completes the inventory is itself an event
        return max(0.0, due_at - time.monotonic())

    async def _publish(self) -> None:
        self._holdoff.reset()
        started = time.perf_counter()
        # In a thread: a large cluster takes a second, and this loop may be serving traffic. Events wait meanwhile.
        try:
            translation = await asyncio.to_thread(
                translate, self._inventory, self._context, shelf=self._shelf, now_epoch_seconds=time.time()
            )
        except Exception:
            _LOG.exception("a translation failed; the last model stays")  # ours to mend; traffic outlives it
            return
        seconds = time.perf_counter() - started
        before = self._published.findings
        changed = self._published.publish(translation, translation_seconds=seconds)
        _log_publication(translation, changed=changed, seconds=seconds)
        _log_findings(before, translation.findings)


def _log_publication(translation: Translation, *, changed: bool, seconds: float) -> None:
    if changed:
        model = translation.model
        _LOG.info(
            "published %d hosts, %d backends, own zone %s, in %.0f ms",
            len(model.hosts),
            len(model.backends),
            model.own_zone.zone or "unknown",
            seconds * 1000,
        )


def _log_findings(before: tuple[Finding, ...], after: tuple[Finding, ...]) -> None:
    """One line for each finding that is new."""
    for finding in sorted(set(after) - set(before)):
        place = f"{finding.namespace}/{finding.name}" if finding.namespace else finding.name
        _LOG.warning("%s %s: %s: %s (%s)", finding.kind, place, finding.reason, finding.message, finding.effect)
