"""Asks a Valkey or Redis server whether requests pass limits that all replicas count together.

One script decides and counts, by the clock of the server, so answers do not depend on who asks. A question has a time
limit. After a failure nobody is asked for a second, so that requests do not wait for a server that is away.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from balancer.matching.gates.verdicts import Waiting
from balancer.runtime.shares import FairShares
from balancer.sharing.rates import Schedule

_LOG = logging.getLogger(__name__)

ASK_SECONDS: Final = 0.05
"""How long a request waits for the answer of a store."""

_REST_SECONDS: Final = 1.0
_CONNECTIONS_MOST: Final = 16
# Questions that wait or are asked, divided among namespaces; who comes beyond is judged by the replica.
_ASKED_MOST: Final = 256
_NS_IN_US: Final = 1000

# The generic cell rate algorithm of balancer/sharing/rates.py, in microseconds.
_SCRIPT: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local due = {}
for place, key in ipairs(KEYS) do
  local before = math.max(tonumber(redis.call('GET', key) or 0), now)
  if before - now > tonumber(ARGV[2 * place]) then return 0 end
  due[place] = before + tonumber(ARGV[2 * place - 1])
end
for place, key in ipairs(KEYS) do
  redis.call('SET', key, string.format('%.0f', due[place]), 'PX', math.ceil((due[place] - now) / 1000) + 1)
end
return 1
"""


class StoreUnusable(Exception):
    """The file that names a store, or what it names, cannot be used. The message is one line."""


class _Consultation:
    """A question of a namespace, with what is sent for it. Whoever asked may leave."""

    __slots__ = ("args", "keys", "tell", "tenant", "until")

    def __init__(
        self, tenant: str, keys: Sequence[bytes], args: list[int], until: float, tell: Callable[[bool | None], None]
    ) -> None:
        """`until` is when an answer comes too late, in seconds of the event loop."""
        self.tenant = tenant
        self.keys = keys
        self.args = args
        self.until = until
        self.tell: Callable[[bool | None], None] | None = tell

    def cancel(self) -> None:
        """Nobody waits for the answer any more. The request counts, if the server has heard of it."""
        self.tell = None

    def answer(self, passes: bool | None) -> None:
        """Tells the answer, once."""
        tell = self.tell
        self.tell = None
        if tell is not None:
            tell(passes)


class ValkeyStore:
    """The store behind one URL, whose connections namespaces take in turns."""

    __slots__ = ("_answered_at", "_asking", "_away_until", "_client", "_loop", "_note", "_queues", "_room", "_script")

    def __init__(self, url: str, note: Callable[[str], None]) -> None:
        """Made inside a running loop. `note` counts each answer by its outcome."""
        from valkey.asyncio import BlockingConnectionPool, Valkey  # loaded only where there is a store

        pool = BlockingConnectionPool.from_url(
            url, max_connections=_CONNECTIONS_MOST, timeout=ASK_SECONDS, socket_connect_timeout=ASK_SECONDS
        )
        self._client: Any = Valkey(connection_pool=pool)
        self._script: Any = self._client.register_script(_SCRIPT)
        self._loop = asyncio.get_running_loop()
        self._asking: set[asyncio.Task[None]] = set()
        self._queues: dict[str, deque[_Consultation]] = {}
        self._room = FairShares(_ASKED_MOST)
        self._answered_at = 0.0
        self._away_until = 0.0
        self._note = note

    def ask(
        self, tenant: str, keys: Sequence[bytes], schedules: Sequence[Schedule], tell: Callable[[bool | None], None]
    ) -> Waiting | None:
        """As `LimitStore` says."""
        now = self._loop.time()
        if now < self._away_until or not self._room.take(tenant):
            self._note("away")
            return None
        args = [number // _NS_IN_US for each in schedules for number in each]
        question = _Consultation(tenant, keys, args, now + ASK_SECONDS, tell)
        self._queues.setdefault(tenant, deque()).append(question)
        self._go_on()
        return question

    def _go_on(self) -> None:
        """Asks as many questions as there are connections; namespaces take turns."""
        while self._queues and len(self._asking) < _CONNECTIONS_MOST:
            tenant = next(iter(self._queues))
            queue = self._queues.pop(tenant)
            question = queue.popleft()
            if queue:
                self._queues[tenant] = queue
            task = self._loop.create_task(self._ask(question))
            self._asking.add(task)
            task.add_done_callback(partial(self._ended, tenant))

    def _ended(self, tenant: str, task: asyncio.Task[None]) -> None:
        self._asking.discard(task)
        self._room.give_back(tenant)
        if not task.cancelled():
            self._go_on()

    async def close(self) -> None:
        """Ends all questions and connections."""
        self._queues.clear()
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)
        with suppress(Exception):  # what a server that is away says to that does not matter
            await self._client.aclose()
            await self._client.connection_pool.disconnect()

    async def _ask(self, question: _Consultation) -> None:
        if question.tell is None:
            return
        began = self._loop.time()
        try:
            async with asyncio.timeout_at(question.until):
                passes = await self._script(keys=question.keys, args=question.args) == 1
        except Exception as problem:  # of the server, the network or the client library
            # Who has waited for a turn had little time for the store, and a store that answers others is not away.
            is_away = question.until - began > ASK_SECONDS / 2 and self._answered_at < began
            self._fail(problem, is_away=is_away or not isinstance(problem, TimeoutError))
            question.answer(None)
            return
        self._answered_at = self._loop.time()
        self._note("passed" if passes else "refused")
        question.answer(passes)

    def _fail(self, problem: Exception, *, is_away: bool) -> None:
        self._note("late")
        now = self._loop.time()
        if not is_away:
            return
        if now >= self._away_until:
            what = str(problem).partition("\n")[0] or type(problem).__name__
            _LOG.warning("the store of limits does not answer (%s): limits hold as without it", what)
        self._away_until = now + _REST_SECONDS


def url_in(file: str) -> str:
    """The URL in a file. Raises `StoreUnusable`, also where the client library is not installed."""
    try:
        from valkey.asyncio import ConnectionPool
    except ImportError:
        raise StoreUnusable("--limit-store needs the package valkey: pip install valkey") from None
    try:
        with open(file, encoding="utf-8") as text:
            url = text.read().strip()
        ConnectionPool.from_url(url)
    except (OSError, UnicodeDecodeError) as error:
        raise StoreUnusable(f"--limit-store {file}: {getattr(error, 'strerror', None) or 'it is no text'}") from None
    except ValueError:
        # The text may hold a password.
        raise StoreUnusable(f"--limit-store {file}: write a URL such as valkey://HOST:6379/0 into it") from None
    return url


def url_at(file: str) -> str:
    """The URL in a file that could be used once; empty if it no longer can, so that limits hold without a store."""
    try:
        return url_in(file) if file else ""
    except StoreUnusable as problem:
        _LOG.error("%s; limits hold as without it", problem)
        return ""
