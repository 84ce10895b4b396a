"""The control loop: events into the inventory, and after a holdoff a whole new model out of it.

It knows neither where events come from nor who serves the model. Nothing is published before every required kind is
known, and nothing that fails here takes the last model away.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from balancer.model import RoutingModel
from balancer.workers.garbage import leave_out
from ingress.findings import Finding
from ingress.holdoff import ENDPOINTS_LIMIT_SECONDS, Holdoff
from ingress.inventory import Changes, Inventory
from ingress.publishing import Published
from ingress.sources.contract import Source
from ingress.sources.events import Event
from ingress.translation.assembly import Translation, translate, with_endpoints
from ingress.translation.certificates import CertificateShelf
from ingress.translation.context import TranslationContext

_LOG = logging.getLogger(__name__)

# A renamed class or a lost Secret may be thousands of findings at once; the log shall show that, not consist of it.
_FINDINGS_A_PUBLICATION = 20

# Endpoints of one Service of a few take 40 microseconds to make, and this loop may be serving traffic.
_SERVICES_IN_ONE_TURN = 32

# How long a model waits for what it takes beyond the kinds that are always followed, certificates above all: as long as
# nobody notices, and at the start, when nothing better is served, as long as someone would look what is wrong.
_PATIENCE_SECONDS = 2.0
_FIRST_PATIENCE_SECONDS = 10.0

# After a whole translation as much time belongs to the traffic as that took: whoever changes something all the time in
# a large cluster gets half a core, and a small cluster does not notice.
_REST_SECONDS_MAX = 5.0


class _Held(msgspec.Struct, frozen=True):
    """A translation that is not published yet, how long it took, and whether more than endpoints may have changed."""

    translation: Translation
    seconds: float
    is_whole: bool


class Controller:
    """Follows one source. `start` must have returned before `run`. `inventory` is what is known, for reading only."""

    __slots__ = (
        "_context",
        "_events",
        "_held",
        "_held_at",
        "_holdoff",
        "_last",
        "_on_findings",
        "_on_model",
        "_published",
        "_rest_until",
        "_shelf",
        "_source",
        "inventory",
    )

    def __init__(
        self,
        source: Source,
        *,
        context: TranslationContext,
        published: Published,
        on_findings: Callable[[tuple[Finding, ...]], None] = lambda _: None,
        on_model: Callable[[RoutingModel], None] = lambda _: None,
    ) -> None:
        """`on_findings` gets everything that is wrong after each translation, `on_model` each model that is served."""
        self._on_model = on_model
        self._on_findings = on_findings
        self._source = source
        self._events = source.events()
        self._context = context
        self._published = published
        self.inventory = Inventory()
        self._holdoff = Holdoff()
        self._shelf = CertificateShelf()
        self._last: Translation | None = None
        self._held: _Held | None = None
        self._held_at = self._rest_until = 0.0

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
                await self._act()
        except StopAsyncIteration:
            if self._holdoff.due_at() is not None and self.inventory.complete:
                await self._translate()
            self._release()
        finally:
            following.cancel()
            await asyncio.wait({following})

    async def close(self) -> None:
        """Let the source go; `run` must have ended."""
        await self._events.aclose()

    def _apply(self, event: Event) -> None:
        if self.inventory.apply(event):
            self._holdoff.touch(time.monotonic())

    async def _act(self) -> None:
        """Translate what is due, and serve what was translated once all that it takes is known or waited for enough."""
        now = time.monotonic()
        due_at = self._due_at()
        if due_at is not None and due_at <= now:
            await self._translate()
        if self._held is None or self._due_at() is not None:
            return
        if self._source.want(self._held.translation.wanted) or now >= self._patience_ends_at():
            self._release()

    def _due_at(self) -> float | None:
        if not self.inventory.complete:  # the list that completes it is itself an event
            return None
        if self._last is None:
            return self._holdoff.due_at()
        if not self.inventory.has_changed_beyond_slices(self._last.services):
            return self._holdoff.due_at(limit_seconds=ENDPOINTS_LIMIT_SECONDS)
        due_at = self._holdoff.due_at()
        return None if due_at is None else max(due_at, self._rest_until)

    def _patience_ends_at(self) -> float:
        return self._held_at + (_PATIENCE_SECONDS if self._published.publication else _FIRST_PATIENCE_SECONDS)

    def _seconds_until_due(self) -> float | None:
        times = [at for at in (self._due_at(), self._patience_ends_at() if self._held else None) if at is not None]
        return max(0.0, min(times) - time.monotonic()) if times else None

    async def _translate(self) -> None:
        """Translate and hold the result; a failure leaves the last model."""
        self._holdoff.reset()
        changes, started = self.inventory.take_changes(), time.perf_counter()
        is_whole = self._last is None or _takes_all(changes, self._last.services)
        try:
            translation = await self._translation(changes, last=None if is_whole else self._last)
        except Exception:
            _LOG.exception("a translation failed; the last model stays")  # ours to mend; traffic outlives it
            self._last = None
            return
        seconds = time.perf_counter() - started
        self._rest_until = time.monotonic() + min(seconds, _REST_SECONDS_MAX)
        self._last = translation
        if self._held is None:
            self._held_at = time.monotonic()
        is_whole = is_whole or (self._held is not None and self._held.is_whole)
        self._held = _Held(translation, seconds, is_whole)

    async def _translation(self, changes: Changes, *, last: Translation | None) -> Translation:
        if last is not None:
            with _uncollected():
                for services in _batches(sorted(changes.slices_of)):
                    last = with_endpoints(last, services, self.inventory)
                    await asyncio.sleep(0)
            return last
        # In a thread: a large cluster takes half a second, and this loop may be serving traffic. Events wait meanwhile.
        with _uncollected():
            translation = await asyncio.to_thread(
                translate, self.inventory, self._context, shelf=self._shelf, now_epoch_seconds=time.time()
            )
            leave_out()  # most of it stays
            return translation

    def _release(self) -> None:
        """Publish what is held, if anything is."""
        if self._held is None:
            return
        held, self._held = self._held, None
        before = self._published.findings
        changed = self._published.publish(held.translation, translation_seconds=held.seconds)
        if changed:
            self._on_model(held.translation.model)
            _log_publication(held)
        if held.is_whole or held.translation.findings is not before:  # there may be many to go through
            _log_findings(before, held.translation.findings)
            self._on_findings(held.translation.findings)


@contextmanager
def _uncollected() -> Iterator[None]:
    """No search for cycles meanwhile: a translation makes none, and each would look at all of a large model again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _takes_all(changes: Changes, services: frozenset[tuple[str, str]]) -> bool:
    """Whether endpoints alone do not do: `services` are those that the last translation looked for."""
    return changes.beyond or not services.isdisjoint(changes.services)


def _batches(services: Sequence[tuple[str, str]]) -> Iterator[Sequence[tuple[str, str]]]:
    for first in range(0, len(services), _SERVICES_IN_ONE_TURN):
        yield services[first : first + _SERVICES_IN_ONE_TURN]


def _log_publication(held: _Held) -> None:
    """Endpoints alone may change ten times a second for ever."""
    model = held.translation.model
    _LOG.log(
        logging.INFO if held.is_whole else logging.DEBUG,
        "published %d hosts, %d backends, own zone %s, in %.0f ms",
        len(model.hosts),
        len(model.backends),
        model.own_zone.zone or "unknown",
        held.seconds * 1000,
    )


def _log_findings(before: tuple[Finding, ...], after: tuple[Finding, ...]) -> None:
    """One line for each finding that is new, up to a limit, and how many there are beyond it."""
    new = sorted(set(after) - set(before))
    for finding in new[:_FINDINGS_A_PUBLICATION]:
        place = f"{finding.namespace}/{finding.name}" if finding.namespace else finding.name
        _LOG.warning("%s %s: %s: %s (%s)", finding.kind, place, finding.reason, finding.message, finding.effect)
    if len(new) > _FINDINGS_A_PUBLICATION:
        _LOG.warning("… and %d more findings; see /debug/findings", len(new) - _FINDINGS_A_PUBLICATION)
