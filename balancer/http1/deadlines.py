"""One coarse wheel of deadlines per worker, so that no request needs a timer of its own.

Moving a deadline later costs an attribute: the wheel looks at an object only when the time it last knew has come, and
then expires it or looks again later. Each object is in one place of the wheel at most and knows it: one that ends is
forgotten at once, with all it holds. The wheel knows nothing of what it watches but `Watched`.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Protocol

NEVER = float("inf")
TICK_SECONDS = 0.1  # how late a deadline may fire; one callback per tick costs nothing measurable
_ENDED = -NEVER  # no deadline is before this look
_EXPIRED_A_TURN = 4  # each costs as much as a request does, and requests beside a crowd must not wait for all


class Watched(Protocol):
    """An object with a deadline in the loop's time.

    `next_look` and `place` belong to the wheel and start as `NEVER` and None.
    """

    closed: bool
    deadline: float
    next_look: float
    place: dict[Watched, None] | None

    def expire(self) -> None:
        """The deadline has passed; what follows is the object's decision."""


class Deadlines:
    """The wheel. It holds objects until `forget`, or until a look at them finds no deadline."""

    __slots__ = ("_due", "_handle", "_loop", "_slots", "_tick")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._slots: dict[int, dict[Watched, None]] = {}
        self._due: OrderedDict[Watched, None] = OrderedDict()  # whose first is cheap to take
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
        if watched.place is not None:
            watched.place.pop(watched, None)
        watched.next_look = watched.deadline
        tick = max(int(watched.deadline / TICK_SECONDS), self._tick) + 1
        place = self._slots.get(tick)
        if place is None:
            place = self._slots[tick] = {}
        place[watched] = None
        watched.place = place

    def forget(self, watched: Watched) -> None:
        """`watched` has ended: hold it no longer, whatever deadline it may still be given."""
        if watched.place is not None:
            watched.place.pop(watched, None)
            watched.place = None
        watched.next_look = _ENDED

    def _turn(self) -> None:
        self._handle = self._loop.call_later(TICK_SECONDS, self._turn)
        under_way = bool(self._due)
        target = int(self._loop.time() / TICK_SECONDS)
        while self._tick < target:
            self._tick += 1
            for watched in self._slots.pop(self._tick, ()):
                watched.place = self._due
                self._due[watched] = None
        if not under_way:
            self._look_at_due()

    def _look_at_due(self) -> None:
        """Expire a few, and the others in later turns of the loop."""
        now, left = self._loop.time(), _EXPIRED_A_TURN
        try:
            while left and self._due:
                left -= self._has_expired(self._due.popitem(last=False)[0], now)
        finally:  # one that fails is not the end of the others
            if self._due:
                self._loop.call_soon(self._look_at_due)

    def _has_expired(self, watched: Watched, now: float) -> bool:
        watched.place, watched.next_look = None, NEVER
        if watched.closed:
            return False
        if watched.deadline <= now:
            watched.deadline = NEVER
            watched.expire()
            return True
        if watched.deadline < NEVER:
            self.insert(watched)
        return False
