"""One coarse wheel of deadlines per worker, so that no request needs a timer of its own.

Moving a deadline later costs an attribute: the wheel looks at an object only when the time it last knew has come, and
then expires it or looks again later. It knows nothing of what it watches but `Watched`.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

NEVER = float("inf")
TICK_SECONDS = 0.1  # how late a deadline may fire; one callback per tick costs nothing measurable


class Watched(Protocol):
    """An object with a deadline in the loop's time. `next_look` belongs to the wheel and starts as `NEVER`."""

    closed: bool
    deadline: float
    next_look: float

    def expire(self) -> None:
        """The deadline has passed; what follows is the object's decision."""


class Deadlines:
    """The wheel. Objects are forgotten once they are closed or have no deadline."""

    __slots__ = ("_handle", "_loop", "_slots", "_tick")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._slots: dict[int, list[Watched]] = {}
        self._tick = int(loop.time() / TICK_SECONDS)
        self._handle: asyncio.TimerHandle | None = loop.call_later(TICK_SECONDS, self._turn)

    def arm(self, watched: Watched, deadline: float) -> None:
        """Expire `watched` once the loop's time is past `deadline`, unless it is armed anew before."""
        watched.deadline = deadline
        if deadline < watched.next_look:
            self.insert(watched)

    def stop(self) -> None:
        """No deadline fires any more."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._slots.clear()

    def insert(self, watched: Watched) -> None:
        """Look at `watched` once its deadline has come; needed only where that is before its `next_look`."""
        watched.next_look = watched.deadline
        self._slots.setdefault(max(int(watched.deadline / TICK_SECONDS), self._tick) + 1, []).append(watched)

    def _turn(self) -> None:
        now = self._loop.time()
        target = int(now / TICK_SECONDS)
        while self._tick < target:
            self._tick += 1
            for watched in self._slots.pop(self._tick, ()):
                self._look_at(watched, now)
        if self._handle is not None:
            self._handle = self._loop.call_later(TICK_SECONDS, self._turn)

    def _look_at(self, watched: Watched, now: float) -> None:
        if watched.closed or watched.next_look > now:
            return  # gone, or an older entry than the one that counts
        watched.next_look = NEVER
        if watched.deadline <= now:
            watched.deadline = NEVER
            watched.expire()
        elif watched.deadline < NEVER:
            self.insert(watched)
