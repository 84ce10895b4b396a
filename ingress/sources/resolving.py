"""Adds DNS to a source: looks up the names that Services of type ExternalName stand for.

Asks the system's resolver repeatedly while a name is wanted, and keeps the last answer if a lookup fails. A name
belongs to the namespace that wants it, so no namespace waits for names of another. Translation decides whether an
address may be used; the proxy connects to exactly these addresses.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from functools import partial

from balancer.runtime.supervising import kept_at_work
from ingress.findings import Findings, Severity, Subject
from ingress.sources.contract import Source, Wanted
from ingress.sources.events import Event, Resolved, SourceFindings
from ingress.sources.look_ups import BlockingLookUp, LookUps, system_look_up

SOURCE = "names"
"""The name of this source in its `SourceFindings`."""

REFRESH_SECONDS = 30.0
"""How often a name is looked up. The resolver does not say how long an answer is valid."""

_ADDRESSES_MAX = 64

# A model waits for a new name for this long, so that silent names delay changes of others by that only. The first names
# get more time, because nothing better is served meanwhile.
_AWAITED_SECONDS = 1.0
_FIRST_AWAITED_SECONDS = 10.0

# Thousands of names that fail one by one are told together.
_TELLING_SECONDS = 0.05

_Key = tuple[str, str]
"""A namespace and a name that it wants."""


class ResolvingSource:
    """Passes the events of another source through and adds the addresses of wanted names."""

    def __init__(
        self, source: Source, *, look_up: BlockingLookUp | None = None, refresh_seconds: float = REFRESH_SECONDS
    ) -> None:
        self._source = source
        self._look_ups = LookUps(look_up or system_look_up)
        self._refresh_seconds = refresh_seconds
        self._tasks: dict[_Key, asyncio.Task[None]] = {}
        self._awaited: dict[_Key, asyncio.TimerHandle] = {}
        self._awaited_seconds = _FIRST_AWAITED_SECONDS
        self._failed: dict[_Key, str] = {}
        self._telling: asyncio.TimerHandle | None = None
        self._found: asyncio.Queue[Event] = asyncio.Queue()
        self._waiting: dict[asyncio.Task[Event], Callable[[], Coroutine[None, None, Event]]] = {}

    async def events(self) -> AsyncGenerator[Event, None]:
        """See `Source.events`."""
        passing = self._source.events()
        asks: tuple[Callable[[], Coroutine[None, None, Event]], ...] = (lambda: _next(passing), self._found.get)
        waiting = self._waiting
        loop = asyncio.get_running_loop()
        try:
            yield await anext(passing)
            waiting.update((loop.create_task(ask()), ask) for ask in asks)
            while True:
                done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for answered in done:
                    ask = waiting.pop(answered)
                    yield answered.result()
                    waiting[loop.create_task(ask())] = ask
        except _Ended:
            return
        finally:
            for timer in (*self._awaited.values(), self._telling):
                if timer is not None:
                    timer.cancel()
            for task in (*waiting, *self._tasks.values()):
                task.cancel()
            await asyncio.gather(*waiting, *self._tasks.values(), return_exceptions=True)
            await passing.aclose()

    def want(self, wanted: Wanted) -> bool:
        """See `Source.want`."""
        for key in self._tasks.keys() - wanted.names:
            self._forget(key)
        for key in wanted.names - self._tasks.keys():
            self._begin(key)
        if wanted.names:
            self._awaited_seconds = _AWAITED_SECONDS
        is_answered = self._source.want(wanted) and not self._awaited and self._telling is None
        return is_answered and self._found.empty() and not any(task.done() for task in self._waiting)

    def _begin(self, key: _Key) -> None:
        loop = asyncio.get_running_loop()
        self._awaited[key] = loop.call_later(self._awaited_seconds, self._awaited.pop, key, None)
        self._tasks[key] = loop.create_task(
            kept_at_work(partial(self._follow, key), what="following a name", told=partial(self._told, key))
        )

    def _forget(self, key: _Key) -> None:
        self._tasks.pop(key).cancel()
        self._answered(key, "")
        self._found.put_nowait(Resolved(*key, ()))

    async def _follow(self, key: _Key) -> None:
        namespace, name = key
        while True:
            problem = ""
            try:
                addresses = await self._look_ups.find(namespace, name)
                self._found.put_nowait(Resolved(namespace, name, addresses[:_ADDRESSES_MAX]))
            except OSError as error:
                problem = error.strerror or "no answer in time"
            self._answered(key, problem)
            await asyncio.sleep(self._refresh_seconds)

    def _told(self, key: _Key, problem: str) -> None:
        """Takes what became of the task that follows a name. Whether the name has addresses is for `_follow` to say."""
        if problem:
            self._answered(key, problem)

    def _answered(self, key: _Key, problem: str) -> None:
        """Nobody waits any longer for a name that has addresses, or that has a `problem`."""
        if (timer := self._awaited.pop(key, None)) is not None:
            timer.cancel()
        before = self._failed.pop(key, None)
        if problem:
            self._failed[key] = problem
        if self._failed.get(key) != before and self._telling is None:
            self._telling = asyncio.get_running_loop().call_later(_TELLING_SECONDS, self._tell_failed)

    def _tell_failed(self) -> None:
        self._telling = None
        findings = Findings()
        for (namespace, name), why in self._failed.items():
            findings.add(
                Subject("Service", namespace, name),
                reason="NameNotResolved",
                message=f"The externalName {name} has no addresses: {why}. Correct the name, or what DNS says of it.",
                severity=Severity.CLOSED,
                effect="Its last addresses are used, if there were any.",
            )
        self._found.put_nowait(SourceFindings(SOURCE, findings.frozen()))


class _Ended(Exception):
    """The other source has no more events. (Inside a generator, a task cannot end with StopAsyncIteration.)"""


async def _next(events: AsyncGenerator[Event, None]) -> Event:
    try:
        return await anext(events)
    except StopAsyncIteration:
        raise _Ended from None
