"""Runs the control loop: puts events into the inventory, and after a holdoff makes a whole new model from it.

Publishes nothing before every required kind is known. No failure here takes the last model away. Does not know where
events come from, nor who serves the model.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable
from contextlib import suppress

import msgspec

from balancer.model.publication import RoutingModel
from balancer.runtime.priority import give_way
from balancer.runtime.turns import TURN_SECONDS
from ingress.findings import Finding
from ingress.following.finding_telling import FindingTelling
from ingress.following.holdoff import ENDPOINTS_LIMIT_SECONDS, Holdoff
from ingress.following.namespace_turns import NamespaceTurns
from ingress.following.publishing import Published, log_publication
from ingress.following.translating import JUDGED_MOST, Translating
from ingress.objects.kinds import OPTIONAL_KINDS
from ingress.settings.context import TranslationContext
from ingress.settings.hooks import RegisteredHook
from ingress.sources.contract import Source, Wanted
from ingress.sources.events import Event, SourceFindings
from ingress.sources.inventory import Inventory
from ingress.translation.assembly import Translation

_LOG = logging.getLogger(__name__)

# After a whole translation the traffic gets as much time as the translation took, and where Secrets go on in the next
# one, up to the longer time. Endless changes in a large cluster then use half a core, and a small cluster does not
# notice. Who changes much rests longer (`namespace_turns`).
_REST_SECONDS_MAX = 0.25
_REST_SECONDS_MAX_PARTIAL = 5.0
# A wall clock may be set. What it decides is looked at so often.
_CLOCK_SECONDS = 30.0


HOOKS = "hooks"
"""The name of the operator's hooks as a source of findings."""


class ModelPatience(msgspec.Struct, frozen=True):
    """How long a model waits for the objects that it wants beyond the kinds that are always followed, as Secrets.

    The first model may wait longer, because nothing better is served meanwhile.
    """

    seconds: float = 2.0
    first_seconds: float = 10.0


_PATIENCE = ModelPatience()


class _Held(msgspec.Struct, frozen=True):
    """An unpublished translation, how long it took, and whether more than endpoints may have changed."""

    translation: Translation
    seconds: float
    is_whole: bool


class Controller:
    """Follows one source. `start` must return before `run`. `inventory` is what is known, for reading only."""

    __slots__ = (
        "_answered",
        "_complete_at",
        "_context",
        "_events",
        "_has_come",
        "_held",
        "_held_at",
        "_holdoff",
        "_in_use",
        "_last",
        "_may_apply",
        "_news",
        "_on_findings",
        "_on_model",
        "_patience",
        "_published",
        "_rest_until",
        "_source",
        "_stale",
        "_telling",
        "_translating",
        "_turns",
        "_wanted",
        "inventory",
    )

    def __init__(
        self,
        source: Source,
        *,
        context: TranslationContext,
        published: Published,
        on_findings: Callable[[tuple[Finding, ...]], None] = lambda _: None,
        telling: FindingTelling | None = None,
        on_model: Callable[[RoutingModel], None] = lambda _: None,
        patience: ModelPatience = _PATIENCE,
        judged_most: int = JUDGED_MOST,
        in_use: Callable[[], float] = lambda: math.inf,
    ) -> None:
        """`on_findings` gets all findings after each translation, `on_model` each model that is served. `telling` says
        what lasts. After the first model a translation judges `judged_most` changed Secrets. `in_use` says which
        generation all workers serve.
        """
        self._telling = telling or FindingTelling()
        self._on_model = on_model
        self._patience = patience
        self._on_findings = on_findings
        self._source = source
        self._events = source.events()
        self._context = context
        self._published = published
        self.inventory = Inventory()
        self._translating = Translating(self.inventory, judged_most=judged_most)
        self._holdoff = Holdoff()
        self._in_use = in_use
        self._turns = NamespaceTurns()
        self._last: Translation | None = None
        self._wanted = Wanted()  # by the last translation, also if a later one has failed
        self._held: _Held | None = None
        self._answered: Wanted | None = None
        self._held_at = 0.0
        self._complete_at = 0.0  # when all but kinds of Gateway API were known
        self._rest_until = 0.0
        self._news = asyncio.Event()
        self._may_apply = asyncio.Event()
        self._may_apply.set()
        self._stale = False  # whether the context has changed since the last translation began
        self._has_come = False  # whether an event waits for the end of a translation

    async def start(self) -> None:
        """Waits for the source's first event. Raises what the source raises if there is nothing to read from."""
        self._apply(await anext(self._events))

    async def run(self) -> None:
        """Follows the source without end, or until it ends."""
        self._begin_burst()
        following = asyncio.create_task(self._follow())
        following.add_done_callback(lambda _: self._news.set())
        try:
            while not following.done():
                await self._until_news_or_due()
                self._let_in()
                if self._is_due():
                    await self._translate()
                    if self._has_come:  # The event came during the translation and may be what the model waits for.
                        continue
                self._release_if_answered()
            following.result()
            for event in self._turns.take_all():
                self._put(event, time.monotonic())
            if self._holdoff.due_at() is not None and self.inventory.complete:
                await self._translate()
            self._release()
        finally:
            following.cancel()
            await asyncio.wait({following})

    async def _follow(self) -> None:
        """Applies events as they come, but none while a translation reads the inventory."""
        until = time.perf_counter() + TURN_SECONDS
        async for event in self._events:
            if not self._may_apply.is_set():
                self._has_come = True
                await self._may_apply.wait()
                self._has_come = False
            self._apply(event)
            self._news.set()
            give_way()
            if time.perf_counter() >= until:
                await asyncio.sleep(0)
                until = time.perf_counter() + TURN_SECONDS

    async def _until_news_or_due(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._seconds_until_due()):
                await self._news.wait()
        self._news.clear()

    def see(self, findings: tuple[Finding, ...]) -> None:
        """Takes all findings that requests have shown, beside those of translations."""
        if self._published.see(findings):
            self._telling.follow(self._published.findings)

    @property
    def context(self) -> TranslationContext:
        """What is known besides the cluster."""
        return self._context

    def use_hooks(self, hooks: tuple[RegisteredHook, ...], findings: tuple[Finding, ...]) -> None:
        """Takes other hooks of the operator, and what is wrong with them. They are one publication."""
        self._context = msgspec.structs.replace(self._context, hooks=hooks)
        self._stale = True
        self.inventory.apply(SourceFindings(HOOKS, findings))
        self._holdoff.touch(time.monotonic())
        self._news.set()

    async def close(self) -> None:
        """Closes the source. `run` must have ended."""
        self._telling.close()
        await self._events.aclose()

    def _apply(self, event: Event) -> None:
        now, is_newer = time.monotonic(), self.inventory.is_newer_version(event)
        if self._published.publication is None or not self._turns.keep(event, now, is_newer=is_newer):
            self._put(event, now, may_be_lone=is_newer)

    def _put(self, event: Event, came_at: float, *, may_be_lone: bool = False) -> None:
        if self.inventory.apply(event):
            self._turns.brought(event)
            self._holdoff.touch(came_at, may_be_lone=may_be_lone)

    def _let_in(self) -> None:
        """Takes the changes that have waited for their turn."""
        now, publication = time.monotonic(), self._published.publication
        generation = publication.generation if publication is not None and self._held is None else math.inf
        self._turns.see(now, is_in_use=self._in_use() >= generation)
        for event, came_at in self._turns.take(now):
            self._put(event, came_at)

    def _begin_burst(self) -> None:
        """Restarts the first burst, because workers take a second to start between `start` and `run`."""
        if self._holdoff.due_at() is not None:
            self._holdoff.reset()
            self._holdoff.touch(time.monotonic())

    def _is_due(self) -> bool:
        due_at = self._due_at()
        return self._seconds_until_end() == 0.0 or (due_at is not None and due_at <= time.monotonic())

    def _release_if_answered(self) -> None:
        """Publishes the held translation if the source has reported all that it wants, or the wait is over.

        A translation that wants the same as the one before need not wait, because the inventory has those answers.
        """
        if self._held is None:
            return
        wanted = self._held.translation.wanted
        is_answered = self._source.want(wanted) and not self._has_untranslated_answers()
        if is_answered:
            self._answered = wanted
        if is_answered or wanted == self._answered or time.monotonic() >= self._patience_ends_at():
            self._release()

    def _has_untranslated_answers(self) -> bool:
        """Whether something that a source can be asked for has changed in the inventory since the last translation."""
        return self._last is None or self.inventory.has_changed_beyond_slices(self._last.services)

    def _due_at(self) -> float | None:
        if not self.inventory.complete:  # the list that completes it is itself an event
            return None
        if self._last is None:
            due_at = self._holdoff.due_at()
            return None if due_at is None else max(due_at, self._optional_until())
        if self._last.is_partial:
            return self._rest_until
        if not self.inventory.has_changed_beyond_slices(self._last.services):
            return self._holdoff.due_at(limit_seconds=ENDPOINTS_LIMIT_SECONDS)
        due_at = self._holdoff.due_at()
        everybody = self._turns.rest_of_everybody(time.monotonic())
        return None if due_at is None else max(due_at, self._rest_until, everybody)

    def _optional_until(self) -> float:
        """Until when the first model waits for kinds of Gateway API. A replica that is ready without them would take
        connections for which it has no routes yet. An API server that says nothing about them must not stop Ingresses.
        """
        follows = self._context.gateway_services is not None or bool(self._context.gateway_ports)
        if not follows or all(map(self.inventory.knows, OPTIONAL_KINDS)):
            return 0.0
        self._complete_at = self._complete_at or time.monotonic()
        return self._complete_at + self._patience.first_seconds

    def _patience_ends_at(self) -> float:
        patience = self._patience
        return self._held_at + (patience.seconds if self._published.publication else patience.first_seconds)

    def _seconds_until_due(self) -> float | None:
        patience_ends_at = self._patience_ends_at() if self._held else None
        given = (self._due_at(), patience_ends_at, self._turns.due_at(time.monotonic()))
        times = [at for at in given if at is not None]
        waits = [max(0.0, at - time.monotonic()) for at in times]
        if (ending := self._seconds_until_end()) is not None:
            waits.append(min(ending, _CLOCK_SECONDS))
        return min(waits, default=None)

    def _seconds_until_end(self) -> float | None:
        """The seconds until something in the last translation is over, such as a drain; None if nothing ends."""
        if self._last is None or self._last.ends_at_epoch_seconds is None:
            return None
        return max(0.0, self._last.ends_at_epoch_seconds - time.time())

    async def _translate(self) -> None:
        """Translates and holds the result. A failure leaves the last model."""
        self._may_apply.clear()
        try:
            await self._translate_now()
        finally:
            self._may_apply.set()

    async def _translate_now(self) -> None:
        self._holdoff.reset()
        changes, started = self.inventory.take_changes(), time.perf_counter()
        brought = self._turns.begin()
        is_stale = self._stale
        self._stale = False
        is_whole = is_stale or self._last is None or self._last.is_partial or changes.take_all(self._last.services)
        is_whole = is_whole or self._seconds_until_end() == 0.0
        try:
            if is_whole or self._last is None:
                is_first = self._published.publication is None
                translation = await self._translating.whole(self._context, before=self._wanted, is_first=is_first)
            else:
                translation = await self._translating.with_slices(self._last, changes)
        except Exception:
            _LOG.exception("a translation failed; the last model stays")  # a bug; traffic continues
            self._last = None
            return
        seconds = time.perf_counter() - started
        most = _REST_SECONDS_MAX_PARTIAL if translation.is_partial else _REST_SECONDS_MAX
        self._rest_until = time.monotonic() + min(seconds, most)
        if brought:
            self._turns.translated(brought, time.monotonic(), seconds)
        self._last = translation
        self._wanted = translation.wanted
        if self._held is None:
            self._held_at = time.monotonic()
        is_whole = is_whole or (self._held is not None and self._held.is_whole)
        self._held = _Held(translation, seconds, is_whole)

    def _release(self) -> None:
        """Publishes what is held, if anything."""
        if self._held is None:
            return
        held = self._held
        self._held = None
        before = self._published.findings
        give_way()
        changed = self._published.publish(held.translation, translation_seconds=held.seconds)
        give_way()
        if changed:
            self._on_model(held.translation.model)
            give_way()
            log_publication(
                held.translation.model, held.seconds, level=logging.INFO if held.is_whole else logging.DEBUG
            )
        findings = self._published.findings
        if held.is_whole or findings is not before:  # there may be many findings to compare
            self._telling.follow(findings)
            self._on_findings(findings)
