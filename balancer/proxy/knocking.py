"""Asks endpoints for a new connection that owe an answer, to tell a slow endpoint from one that is gone.

A request on a kept connection learns nothing by waiting. A connection that cannot be made, while other endpoints are
heard, is evidence (`picking/silence.py`). If nobody else was heard meanwhile, others are asked as well. One that is
made says that the endpoint is there, and is closed. ADR 25 has the sum of the waits of a request.
"""

from __future__ import annotations

import asyncio
import time
from itertools import islice
from typing import Final, Protocol

from balancer.picking.backend import BackendRuntime
from balancer.picking.members import Member
from balancer.picking.silence import Told
from balancer.runtime.absences import NEVER_ABSENT, Absences, AttendedWait
from balancer.runtime.deadlines import LOOK_SECONDS

QUIET_SECONDS: Final = LOOK_SECONDS
"""An endpoint that was heard or asked within so many seconds is not asked."""

QUIET_MOST_SECONDS: Final = 5.0
"""For requests that wait longer, an endpoint may be quiet for half of their wait, and at most so long."""

OTHERS_MOST: Final = 8
"""So many other endpoints are asked at once if nobody was heard,"""

PENDING_MOST: Final = 16
"""unless connects to so many endpoints of the backend are pending."""

_SECONDS = 5.0  # how long the connection may take
_NEWS_SECONDS = 0.05  # after a verdict is due, it is known


class KnockingPools(Protocol):
    """Where connections are made. `coming` are tasks that make some; they are cancelled with the pools."""

    coming: set[asyncio.Task[None]]

    async def knock(self, member: Member, timeout_seconds: float) -> None:
        """Makes a connection to the endpoint without TLS and closes it. Raises OSError or TimeoutError."""


class ToldOfSilence(Protocol):
    """Whoever is told what connections have shown."""

    def tell_all(self, runtime: BackendRuntime, told: Told, now: float) -> None:
        """The members of `runtime` have changed so."""


class Knocks:
    """Connections that are made only to ask. `tells` hears what they show. `absences` are those of the loop."""

    __slots__ = ("_absences", "_due", "_pools", "_tells")

    def __init__(self, pools: KnockingPools, tells: ToldOfSilence, absences: Absences = NEVER_ABSENT) -> None:
        self._absences = absences
        self._due: dict[Member, float] = {}  # who is being asked, and when that becomes evidence
        self._pools = pools
        self._tells = tells

    def ask(self, runtime: BackendRuntime, member: Member, waited: float, now: float) -> float:
        """Asks `member`, which owes a request an answer since `waited` seconds, if it was quiet for long enough.

        Returns the seconds after which there may be news. `now` is of `time.perf_counter`.
        """
        due = self._due.get(member)
        if due is None:
            quiet = now - max(member.health.heard_at, member.asked_at)
            needed = min(max(QUIET_SECONDS, waited / 2.0), QUIET_MOST_SECONDS)
            if quiet < needed:
                return needed - quiet
            if not runtime.silence.is_on:
                return needed  # nothing would follow
            due = self._begin(runtime, member, now)
        return _NEWS_SECONDS + max(due - now, (now - due) / 2.0)

    def ask_others(self, runtime: BackendRuntime, member: Member, began: float, now: float) -> bool:
        """Asks others than `member`, to which a connect is pending since `began`, if nobody was heard since then.

        Those that are there say so at once. Endpoints of other zones come first. Returns whether any was asked.
        """
        silence = runtime.silence
        room = min(PENDING_MOST - silence.pending, OTHERS_MOST)
        if room <= 0 or not silence.is_on or silence.is_another_heard(member, began, now):
            return False
        due, zone = self._due, member.endpoint.zone
        others = (
            each
            for each in runtime.members.values()
            if each is not member and each not in due and not each.is_silent and each.asked_at < began
        )
        chosen = tuple(islice(sorted(others, key=lambda each: each.endpoint.zone == zone), room))
        for each in chosen:
            self._begin(runtime, each, now)
        return bool(chosen)

    def _begin(self, runtime: BackendRuntime, member: Member, now: float) -> float:
        """Begins to ask. Returns when that becomes evidence."""
        patience = runtime.silence.patience(member, now, asks=True)
        due = now + patience
        self._due[member] = due
        member.asked_at = now
        coming = self._pools.coming
        task = asyncio.get_running_loop().create_task(self._ask(runtime, member, now, patience))
        coming.add(task)
        task.add_done_callback(coming.discard)
        return due

    async def _ask(self, runtime: BackendRuntime, member: Member, began: float, patience: float) -> None:
        silence = runtime.silence
        silence.began(member, began, asks=True)
        connecting = asyncio.ensure_future(self._pools.knock(member, _SECONDS))
        wait = AttendedWait(patience, began, self._absences)
        try:
            while not connecting.done() and (left := wait.left(time.perf_counter())):
                await asyncio.wait((connecting,), timeout=left)
            if not connecting.done():
                now = time.perf_counter()
                self._tells.tell_all(runtime, silence.judge(now), now)
                self.ask_others(runtime, member, began, now)
            await connecting
            now = time.perf_counter()
            self._tells.tell_all(runtime, silence.reached(member, now), now)
        except OSError:  # also of time: an endpoint that refuses may still answer what it has taken
            pass
        finally:
            del self._due[member]
            connecting.cancel()
            silence.ended(member, began, asks=True)
