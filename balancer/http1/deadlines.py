"""One coarse wheel of deadlines per worker, so that no request needs a timer of its own.

Moving a deadline later costs an attribute: the wheel looks at an object only when the time it last knew has come, and
then expires it or looks again later. It knows nothing of what it watches but `Watched`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

NEVER = float("inf")
TICK_SECONDS = 0.1  # how late a deadline may fire; one callback per tick costs nothing measurable
_EXPIRED_A_TURN = 4  # each costs as much as a request does, and requests beside a crowd must not wait for all


class Watched(Protocol):
    """An object with a deadline in the loop's time. `next_look` belongs to the wheel and starts as `NEVER`."""

    closed: bool
    deadline: float
    next_look: float

    def expire(self) -> None:
        """The deadline has passed; what follows is the object's decision."""


class Deadlines:
    """The wheel. Objects are forgotten once they are closed or have no deadline."""

    __slots__ = ("_due", "_handle", "_loop", "_slots", "_tick")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._slots: dict[int, list[Watched]] = {}
        self._due: deque[Watched] = deque()
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
        self._due.clear()

    def insert(self, watched: Watched) -> None:
        """Look at `watched` once its deadline has come; needed only where that is before its `next_look`."""
        watched.next_look = watched.deadline
        self._slots.setdefault(max(int(watched.deadline / TICK_SECONDS), self._tick) + 1, []).append(watched)

    def _turn(self) -> None:
        self._handle = self._loop.call_later(TICK_SECONDS, self._turn)
        under_way = bool(self._due)
        target = int(self._loop.time() / TICK_SECONDS)
        while self._tick < target:
            self._tick += 1
            self._due.extend(self._slots.pop(self._tick, ()))
        if not under_way:
            self._look_at_due()

    def _look_at_due(self) -> None:
        """Expire a few, and the others in later turns of the loop."""
        now, left = self._loop.time(), _EXPIRED_A_TURN
        try:
            while left and self._due:
                left -= self._has_expired(self._due.popleft(), now)
        finally:  # one that fails is not the end of the others
            if self._due:
                self._loop.call_soon(self._look_at_due)

    def _has_expired(self, watched: Watched, now: float) -> bool:
        if watched.closed or watched.next_look > now:
            return False  # gone, or an older entry than the one that counts
        watched.next_look = NEVER
        if watched.deadline <= now:
            watched.deadline = NEVER
            watched.expire()
            return True
        if watched.deadline < NEVER:
            self.insert(watched)
        return False
