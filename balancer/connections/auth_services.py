"""Asks auth services in bounded time, with bounded memory, and without holding up the event loop.

Each tenant has a queue for each service: a number of requests is under way at once, some more wait, and further ones
are refused. All queues share places, which are divided among tenants. So a service that hangs delays only the clients
of its own routes. What is asked and what follows is decided in `balancer/matching/gates/external_auth/`.
"""

from __future__ import annotations

import asyncio
import logging
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

import msgspec

from balancer.connections.names import Names
from balancer.matching.gates.external_auth.answers import AuthAnswer
from balancer.matching.gates.external_auth.gate import Told
from balancer.matching.gates.external_auth.requests import AuthRequest
from balancer.runtime.absences import NEVER_ABSENT, Absences
from balancer.runtime.shares import FairShares
from balancer.runtime.waiting import Bounded

if TYPE_CHECKING:
    from balancer.connections.auth_sessions import AuthSession

_LOG = logging.getLogger(__name__)
_SESSIONS = "balancer.connections.auth_sessions"
_WARNING_SECONDS = 10.0
_STOP_SECONDS = 1.0  # for connections to close


class AuthLimits(msgspec.Struct, frozen=True):
    """What one worker spends on auth services.

    An answer must come within `deadline_seconds`, waiting included; time in which the loop did not turn is not. Of one
    tenant `at_once` requests are with one service, and `waiting` more wait for it. `in_all` is for all services of all
    tenants, and one tenant gets at most as many places as stay free.
    """

    deadline_seconds: float = 10.0
    at_once: int = 256
    waiting: int = 128
    in_all: int = 2048


_LIMITS = AuthLimits()


class AuthClient:
    """Speaks to auth services. Made inside a running loop."""

    def __init__(
        self, limits: AuthLimits = _LIMITS, *, called: str = "auth service", absences: Absences = NEVER_ABSENT
    ) -> None:
        """The log calls a service `called`. `absences` are those of the loop."""
        self._limits = limits
        self._absences = absences
        self._called = called
        self._loop = asyncio.get_running_loop()
        self._lines: dict[tuple[str, str], _Line] = {}
        self._places = FairShares(limits.in_all)
        self._names = Names(absences=absences)
        self._module: ModuleType | None = None
        self._sessions: dict[bool, AuthSession] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._silent_until: dict[str, float] = {}

    def ask(self, request: AuthRequest, tell: Told) -> _Question | None:
        """See `AuthServices.ask`."""
        limits, key = self._limits, (request.tenant, request.authority)
        line = self._lines.get(key)
        if line is not None and line.length >= limits.at_once + limits.waiting:
            return None
        if not self._places.take(request.tenant):
            return None
        if line is None:
            line = self._lines[key] = _Line(limits.at_once)
        line.length += 1
        question = _Question(request, tell)
        task = self._loop.create_task(self._serve(question, line))
        question.task = task
        self._tasks.add(task)
        task.add_done_callback(lambda ended: self._ended(ended, key, line))
        return question

    @property
    def busy(self) -> bool:
        """Whether a request is under way."""
        return bool(self._tasks)

    async def stop(self) -> None:
        """Cancels what is under way and closes every connection."""
        for task in self._tasks:
            task.cancel()
        sessions = tuple(self._sessions.values())
        self._sessions = {}
        ending = [*self._tasks, *(self._loop.create_task(session.close()) for session in sessions)]
        if ending:
            await asyncio.wait(ending, timeout=_STOP_SECONDS)

    def _ended(self, task: asyncio.Task[None], key: tuple[str, str], line: _Line) -> None:
        """Cleans up after a task. This is not in the task itself, because a cancelled task may never have begun."""
        self._tasks.discard(task)
        self._places.give_back(key[0])
        line.length -= 1
        if not line.length:
            del self._lines[key]

    async def _serve(self, question: _Question, line: _Line) -> None:
        request = question.request
        try:
            async with Bounded(self._limits.deadline_seconds, self._absences), line.free:
                session = await self._session(request.allow_local)
                await session.ask(request, question.answered)
        except OSError as error:  # TimeoutError is one
            if not question.is_told:
                self._warn(request, error)
        except Exception:
            _LOG.exception("asking a %s failed", self._called)
        finally:
            question.answered(None)

    async def _session(self, allow_local: bool) -> AuthSession:
        if self._module is None:
            # The import takes a good part of a second, so it happens in a thread.
            self._module = await asyncio.to_thread(import_module, _SESSIONS)
        session = self._sessions.get(allow_local)
        if session is None:
            session = self._module.AuthSession(self._names, allow_local=allow_local)
            self._sessions[allow_local] = session
        return session

    def _warn(self, request: AuthRequest, error: OSError) -> None:
        """Logs at most one line of a tenant in a while, because a service that is away fails every request."""
        now, silent = self._loop.time(), self._silent_until
        if now < silent.get(request.tenant, now):
            return
        self._silent_until = {tenant: until for tenant, until in silent.items() if now < until}
        self._silent_until[request.tenant] = now + _WARNING_SECONDS
        why = str(error) or type(error).__name__
        _LOG.warning("%s %s of %r does not answer: %s", self._called, request.authority, request.tenant, why)


class _Line:
    """The requests of one tenant to one service. `length` counts those that are with the service or wait for it."""

    __slots__ = ("free", "length")

    def __init__(self, at_once: int) -> None:
        self.free = asyncio.Semaphore(at_once)
        self.length = 0


class _Question:
    """One request and its waiter, which gets the first answer and no other.

    A waiter that was told is let go. The errors of aiohttp are in cycles that may outlive the request for minutes, and
    a waiter keeps the whole view of its request.
    """

    __slots__ = ("_tell", "request", "task")

    task: asyncio.Task[None]

    def __init__(self, request: AuthRequest, tell: Told) -> None:
        self.request = request
        self._tell: Told | None = tell

    @property
    def is_told(self) -> bool:
        return self._tell is None

    def answered(self, answer: AuthAnswer | None) -> None:
        """Tells the waiter the first answer; later ones are dropped. `answer` None: there is none."""
        tell = self._tell
        if tell is None:
            return
        self._tell = None
        try:
            tell(answer)
        except Exception:
            _LOG.exception("the answer of an auth service could not be judged")
            tell(None)

    def cancel(self) -> None:
        """Cancels the request: its client has left."""
        self._tell = None
        self.task.cancel()
