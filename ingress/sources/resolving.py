"""Adds DNS to a source: looks up the names that Services of type ExternalName stand for.

Asks the system's resolver repeatedly while a name is wanted, and keeps the last answer if a lookup fails. Translation
decides whether an address may be used; the proxy connects to exactly these addresses.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from functools import partial

from balancer.runtime.supervising import kept_at_work
from ingress.findings import Findings, Severity, Subject
from ingress.sources.contract import Source, Wanted
from ingress.sources.events import Event, Resolved, SourceFindings

SOURCE = "names"
"""The name of this source in its `SourceFindings`."""

REFRESH_SECONDS = 30.0
"""How often a name is looked up. The resolver does not say how long an answer is valid."""

_ADDRESSES_MAX = 64
_LOOK_UP_SECONDS = 10.0
_AT_ONCE = 10

LookUp = Callable[[str], Awaitable[tuple[str, ...]]]
"""Returns the addresses of a name, sorted. Raises OSError (TimeoutError is one)."""


class ResolvingSource:
    """Passes the events of another source through and adds the addresses of wanted names."""

    def __init__(
        self, source: Source, *, look_up: LookUp | None = None, refresh_seconds: float = REFRESH_SECONDS
    ) -> None:
        self._source = source
        self._look_up = look_up or system_look_up
        self._refresh_seconds = refresh_seconds
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._answered: set[str] = set()
        self._failed: dict[str, str] = {}
        self._found: asyncio.Queue[Event] = asyncio.Queue()
        self._waiting: dict[asyncio.Task[Event], Callable[[], Coroutine[None, None, Event]]] = {}
        self._free = asyncio.Semaphore(_AT_ONCE)

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
            for task in (*waiting, *self._tasks.values()):
                task.cancel()
            await asyncio.gather(*waiting, *self._tasks.values(), return_exceptions=True)
            await passing.aclose()

    def want(self, wanted: Wanted) -> bool:
        """See `Source.want`."""
        for name in self._tasks.keys() - wanted.names:
            self._tasks.pop(name).cancel()
            self._answered.discard(name)
            self._note(name, "")
        for name in wanted.names - self._tasks.keys():
            self._tasks[name] = asyncio.get_running_loop().create_task(
                kept_at_work(partial(self._follow, name), what="following a name", told=partial(self._failed_at, name))
            )
        is_answered = self._source.want(wanted) and wanted.names <= self._answered
        return is_answered and self._found.empty() and not any(task.done() for task in self._waiting)

    async def _follow(self, name: str) -> None:
        while True:
            problem = ""
            try:
                async with self._free, asyncio.timeout(_LOOK_UP_SECONDS):
                    addresses = await self._look_up(name)
                self._found.put_nowait(Resolved(name, addresses[:_ADDRESSES_MAX]))
            except OSError as error:
                problem = error.strerror or "no answer in time"
            self._answered.add(name)
            self._note(name, problem)
            await asyncio.sleep(self._refresh_seconds)

    def _failed_at(self, name: str, problem: str) -> None:
        """Nobody waits any longer for a name whose task has failed."""
        self._answered.add(name)
        self._note(name, problem)

    def _note(self, name: str, problem: str) -> None:
        before = dict(self._failed)
        self._failed.pop(name, None)
        if problem:
            self._failed[name] = problem
        if self._failed == before:
            return
        findings = Findings()
        for failed, why in self._failed.items():
            findings.add(
                Subject("Service", "", failed),
                reason="NameNotResolved",
                message=f"The externalName {failed} has no addresses: {why}.",
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


async def system_look_up(name: str) -> tuple[str, ...]:
    """The addresses from the system's resolver. Raises OSError."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except UnicodeError:  # the name cannot be encoded for DNS
        raise OSError(socket.EAI_NONAME, "no name that DNS can have") from None
    return tuple(sorted({str(address[0]) for *_, address in found}))
