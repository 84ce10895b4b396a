"""Runs one reflector, which reports every change of one scope of the cluster.

Carries out what `reflecting` decides: requests and waiting. Emits a change in the turn of the event loop in which its
bytes arrive. Does not know what the objects mean, nor decides what follows an outcome.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from random import random as any_random
from typing import Final

from ingress.sources.kubernetes.api import ApiError, ApiResponse, ApiServer, TooLarge
from ingress.sources.kubernetes.decoding import (
    Bookmark,
    Changed,
    DecodingError,
    Deleted,
    Failure,
    Item,
    Keeps,
    Passed,
    Unreadable,
    WatchEvent,
    decode_event,
    decode_page,
    decode_wanted,
    message_of,
)
from ingress.sources.kubernetes.lines import LINE_BYTES_MAX, Lines
from ingress.sources.kubernetes.outage import Outage
from ingress.sources.kubernetes.reflecting import (
    Ended,
    Failed,
    Listed,
    Outcome,
    Oversized,
    PagedList,
    Reflecting,
    ReflectorTimes,
    Silent,
    Step,
    StreamingList,
    Unconfirmed,
    Unusable,
    Watch,
)
from ingress.sources.kubernetes.replica import Replica
from ingress.sources.kubernetes.resources import PAGE_ITEMS, Scope, path_of
from ingress.sources.kubernetes.scope_events import Condition, ScopeEvent, ScopeState, ScopeUnreadable

# Older API servers do not page a list that they answer from memory, and 5,000 full slices have 175 MB.
_LIST_BYTES_MAX: Final = 256 * 1024 * 1024

# Objects of which few are kept may have a megabyte each. Unwanted objects must not fill the memory of this process.
_PASSING_ITEMS: Final = 50
_PASSING_BYTES_MAX: Final = LINE_BYTES_MAX

# The body of an error is a Status of some hundred bytes, or a page of a proxy that nobody reads.
_ERROR_BYTES_MAX: Final = 1024 * 1024
_ERROR_SECONDS: Final = 5.0

# The same event loop may serve requests, and a slice of ten endpoints takes 50 microseconds.
_OBJECTS_IN_ONE_TURN: Final = 5

_LOG = logging.getLogger(__name__)


class Reflector:
    """Lists and watches one scope and reports to `emit`, which is synchronous and cheap."""

    __slots__ = (
        "_api",
        "_emit",
        "_keeps",
        "_outage",
        "_path",
        "_random",
        "_reflecting",
        "_replica",
        "_said",
        "_times",
        "last_event_at",
        "scope",
    )

    def __init__(
        self,
        api: ApiServer,
        scope: Scope,
        *,
        emit: Callable[[ScopeEvent], None],
        keeps: Keeps | None = None,
        times: ReflectorTimes | None = None,
        random: Callable[[], float] = any_random,
        outage: Outage | None = None,
        version: str = "",
    ) -> None:
        """Without `keeps` every object is wanted. Of unwanted objects only their existence is reported. `random`
        returns numbers in [0, 1). `version` is that of the API group, and empty for the usual one.

        All reflectors of one API server share one `outage`. A scope of one object, or one with `keeps`, always gets the
        newest list, because a watch before may have seen more than an older list holds.
        """
        self.scope = scope
        self.last_event_at: float | None = None
        """When the API server last sent anything of this scope, on the event loop's clock."""
        self._api = api
        self._path = path_of(scope.kind, scope.namespace, version=version)
        self._emit = emit
        self._random = random
        self._times = times or ReflectorTimes()
        self._keeps = keeps
        page_items = _PASSING_ITEMS if keeps else PAGE_ITEMS
        self._outage = outage or Outage()
        self._reflecting = Reflecting(self._times, page_items=page_items, exact=bool(scope.name or keeps))
        self._replica = Replica(scope)
        self._said: tuple[Condition | None, str] = None, ""

    async def run(self) -> None:
        """Runs until it is cancelled. Nothing that the API server does ends it."""
        step = self._reflecting.first(rand=self._random())
        try:
            while True:
                await self._wait(step)
                outcome = await self._perform(step)
                step = self._reflecting.next(outcome, now=_now(), rand=self._random())
                if not step.scouts:
                    self._outage.resign(self)
                try:
                    self._say_state()
                except Exception:  # as in `_perform`
                    _LOG.exception("the listener failed on the state of %s", self.scope.kind.value)
        finally:
            self._outage.resign(self)

    async def _wait(self, step: Step) -> None:
        if step.firm_seconds is None:
            await asyncio.sleep(step.wait_seconds)
            return
        await asyncio.sleep(step.firm_seconds)
        scout_seconds = self._times.scout_seconds * (1 + self._random()) / 2 if step.scouts else None
        if await self._outage.wait(self, step.wait_seconds - step.firm_seconds, scout_seconds=scout_seconds):
            await asyncio.sleep(self._times.return_spread_seconds * self._random())

    async def _perform(self, step: Step) -> Outcome:
        try:
            if step.refresh_credentials:
                await self._api.refresh_credentials()
            match step.action:
                case PagedList():
                    return await self._list(step.action)
                case StreamingList(seconds):
                    return await self._list_by_stream(seconds)
                case Watch(version, seconds):
                    return await self._watch(self.scope.watch_query(version=version, seconds=seconds), seconds)
        except (ApiError, DecodingError) as error:
            return _outcome_of(error)
        except Exception as error:  # a reflector that stops silently is worse than any bug
            _LOG.exception("the reflector of %s failed and lists again", self.scope.kind.value)
            return Unusable(f"an internal error ({type(error).__name__})")

    async def _list(self, action: PagedList) -> Outcome:
        items: list[Item | Passed] = []
        limit_bytes = _PASSING_BYTES_MAX if self._keeps else _LIST_BYTES_MAX
        token = ""
        while True:
            query = {**self.scope.list_query(token=token, anything=action.anything), "limit": str(action.items)}
            async with self._api.request("GET", self._path, query=query, accept=self.scope.list_accept) as response:
                if response.status != 200:
                    return await _refusal(response)
                page = decode_page(await response.read(limit_bytes))
            self.last_event_at = _now()
            for count, raw in enumerate(page.items, 1):
                items.append(decode_wanted(self.scope.kind, raw, self._keeps))
                await _breathe(count)
            token = page.token
            if not token:
                return Ended() if self._replaced(items, page.version) else Unconfirmed()

    async def _list_by_stream(self, seconds: int) -> Outcome:
        query = self.scope.streaming_list_query(seconds=seconds)
        try:
            async with asyncio.timeout(self._times.streaming_silence_seconds) as patience:
                return await self._watch(query, seconds, patience=patience)
        except TimeoutError:
            return Silent()

    async def _watch(
        self, query: Mapping[str, str], seconds: int, *, patience: asyncio.Timeout | None = None
    ) -> Outcome:
        deadline_seconds = seconds + self._times.read_margin_seconds
        async with self._api.request(
            "GET",
            self._path,
            query=query,
            accept=self.scope.watch_accept,
            read_timeout_seconds=deadline_seconds,
            total_timeout_seconds=deadline_seconds,
        ) as response:
            if response.status != 200:
                return await _refusal(response)
            async with aclosing(self._events(response, patience=patience)) as events:
                if patience is not None and (outcome := await self._take_initial(events, patience=patience)):
                    return outcome
                return await self._follow(events)

    async def _take_initial(
        self, events: AsyncGenerator[WatchEvent, None], *, patience: asyncio.Timeout
    ) -> Outcome | None:
        items: list[Item | Passed] = []
        async for event in events:
            match event:
                case Changed(item):
                    items.append(item)
                case Deleted(identity):
                    items = [item for item in items if item.identity.key != identity.key]
                case Failure():
                    return _failed(event)
                case Bookmark(version, ends_list=True):
                    patience.reschedule(None)
                    return None if self._replaced(items, version) else Unconfirmed()
        return Ended()

    async def _follow(self, events: AsyncGenerator[WatchEvent, None]) -> Outcome:
        opened_at, count = _now(), 0
        lasting = asyncio.get_running_loop().call_later(self._times.short_watch_seconds, self._followed)
        try:
            async for event in events:
                count += 1
                if isinstance(event, Failure):
                    return _failed(event)
                self._apply(event)
        finally:
            lasting.cancel()
            self._reflecting.advanced(self._replica.latest)
        return Ended(_now() - opened_at, count)

    async def _events(
        self, response: ApiResponse, *, patience: asyncio.Timeout | None
    ) -> AsyncGenerator[WatchEvent, None]:
        lines, count = Lines(), 0
        async with aclosing(response.chunks()) as chunks:
            async for chunk in chunks:
                self.last_event_at = _now()
                if patience is not None and patience.when() is not None:
                    patience.reschedule(self.last_event_at + self._times.streaming_silence_seconds)
                dropped = lines.dropped
                for line in lines.feed(chunk):
                    if event := self._decoded(line):
                        yield event
                    count += 1
                    await _breathe(count)
                if lines.dropped > dropped:
                    self._say_unreadable(f"a line of the watch is longer than {LINE_BYTES_MAX} bytes")

    def _decoded(self, line: bytes) -> WatchEvent | None:
        try:
            return decode_event(self.scope.kind, line, self._keeps)
        except DecodingError as error:
            self._say_unreadable(str(error))
            return None

    def _apply(self, event: Changed | Deleted | Bookmark) -> None:
        if news := self._replica.apply(event):
            self._emit(news)
        self._followed()

    def _followed(self) -> None:
        self._outage.served(self)
        self._reflecting.followed()
        self._say_state()

    def _say_unreadable(self, problem: str) -> None:
        self._emit(ScopeUnreadable(self.scope, Unreadable("", "", problem)))
        self._said = None, ""  # so that the state is emitted again, and with it that reading continues

    def _replaced(self, items: Iterable[Item | Passed], version: str) -> bool:
        items = tuple(items)
        listed = Listed(version, len(items), len(self._replica))
        if not self._reflecting.listed(listed):
            return False
        self._outage.served(self)
        self._emit(self._replica.replace(items, version))
        self._say_state()
        return True

    def _say_state(self) -> None:
        state = self._reflecting.condition, self._reflecting.problem
        if state != self._said and state[0] is not None:
            self._said = state
            self._emit(ScopeState(self.scope, state[0], state[1]))


def _outcome_of(error: ApiError | DecodingError) -> Outcome:
    if isinstance(error, TooLarge):
        return Oversized(error.problem)
    return Failed(error.problem) if isinstance(error, ApiError) else Unusable(str(error))


async def _refusal(response: ApiResponse) -> Failed:
    try:
        async with asyncio.timeout(_ERROR_SECONDS):  # the timeout of a watch is minutes
            message = message_of(await response.read(_ERROR_BYTES_MAX))
    except (ApiError, TimeoutError):
        message = ""
    problem = f"HTTP {response.status}: {message}" if message else f"HTTP {response.status}"
    return Failed(problem, response.status, retry_after_seconds=response.retry_after_seconds)


def _failed(failure: Failure) -> Failed:
    problem = f"the watch failed with {failure.code}"
    return Failed(f"{problem}: {failure.message}" if failure.message else problem, failure.code, in_stream=True)


async def _breathe(count: int) -> None:
    if count % _OBJECTS_IN_ONE_TURN == 0:
        await asyncio.sleep(0)


def _now() -> float:
    return asyncio.get_running_loop().time()
