"""Asks an endpoint that owes an answer for a new connection, to tell a slow endpoint from one that is gone.

A request on a kept connection learns nothing by waiting: its bytes vanish without a word, as they wait with a slow
endpoint. A connection that cannot be made, while other endpoints answer, is evidence (`picking/silence.py`). One that
is made says that the endpoint is there, and is closed.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

from balancer.picking.backend import BackendRuntime
from balancer.picking.members import Member
from balancer.picking.silence import Told
from balancer.runtime.absences import NEVER_ABSENT, Absences, AttendedWait

KNOCK_AGAIN_SECONDS = 5.0
"""An endpoint is asked once in so many seconds, however many requests wait for it."""

_SECONDS = 5.0  # how long the connection may take


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

    __slots__ = ("_absences", "_pools", "_tells")

    def __init__(self, pools: KnockingPools, tells: ToldOfSilence, absences: Absences = NEVER_ABSENT) -> None:
        self._absences = absences
        self._pools = pools
        self._tells = tells

    def knock(self, runtime: BackendRuntime, member: Member, now: float) -> None:
        """Asks `member`, unless that was done lately. `now` is of `time.perf_counter`."""
        if now - member.knocked_at < KNOCK_AGAIN_SECONDS:
            return
        member.knocked_at = now
        coming = self._pools.coming
        task = asyncio.get_running_loop().create_task(self._ask(runtime, member, now))
        coming.add(task)
        task.add_done_callback(coming.discard)

    async def _ask(self, runtime: BackendRuntime, member: Member, began: float) -> None:
        silence = runtime.silence
        others = [(each, each.health.answers) for each in runtime.members.values() if each is not member]
        silence.began(member, began)
        connecting = asyncio.ensure_future(self._pools.knock(member, _SECONDS))
        wait = AttendedWait(silence.patience(member, began), began, self._absences)
        try:
            while not connecting.done() and (left := wait.left(time.perf_counter())):
                await asyncio.wait((connecting,), timeout=left)
            if not connecting.done():
                now = time.perf_counter()
                heard = next((each for each, answers in others if each.health.answers > answers), None)
                told = silence.judge(now) if heard is None else silence.heard(heard, now)
                self._tells.tell_all(runtime, told, now)
            await connecting
            now = time.perf_counter()
            seconds = self._absences.attended(began, now)
            self._tells.tell_all(runtime, silence.connected(member, seconds, now), now)
        except OSError:  # also of time: an endpoint that refuses may still answer what it has taken
            pass
        finally:
            connecting.cancel()
            silence.ended(member, began)
