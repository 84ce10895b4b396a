"""Runs deadlines on one coarse timer wheel for each worker, so that no request needs a timer of its own.

Moving a deadline later costs one attribute: the wheel looks at an object when the last known deadline has come, and
then expires the object or looks again later. Each object is in at most one place of the wheel and knows this place, so
an object that ends is forgotten at once. The wheel knows watched objects only as `Watched`.

What comes due while the loop does not turn gets that time back, so that what has arrived meanwhile is read first. The
turns of the wheel tell `absences` that the loop turns.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Protocol, cast

from balancer.runtime.absences import BEAT_SECONDS, Absences
from balancer.runtime.starving import starved_seconds

NEVER = float("inf")
TICK_SECONDS = BEAT_SECONDS  # the most by which a deadline fires late; a callback per tick costs nothing measurable
LOOK_SECONDS = 0.5
"""Whoever waits for an answer looks so often whether the other side is still there."""

_ENDED = -NEVER  # earlier than any deadline
_LATE_SECONDS = TICK_SECONDS  # a turn of the wheel that is later comes after an absence
_EXPIRED_A_TURN = 4  # each costs as much as a request, and other requests must not wait for a crowd


class Watched(Protocol):
    """An object with a deadline in the loop's time.

    `next_look` and `place` belong to the wheel. They start as `NEVER` and None.
    """

    closed: bool
    deadline: float
    next_look: float
    place: dict[Watched, None] | None

    def expire(self) -> None:
        """The deadline has passed. The object decides what follows."""


class Alarms(Protocol):
    """The owner of an `Alarm`."""

    def expired(self) -> None:
        """The time that was allowed has passed."""


class Looks(Protocol):
    """The owner of an `Alarm` that acts before the time is over."""

    def looks(self) -> None:
        """Called every `LOOK_SECONDS` while the alarm is set and time is left."""


class Alarm:
    """A reusable deadline. Requests borrow one, so a short request adds no entry to the timer wheel.

    Setting and moving it costs an attribute. `owner` is told when the time has passed. No time that is set ends after
    `limit`, in the loop's time.
    """

    __slots__ = (
        "_deadlines",
        "_look_at",
        "_seconds",
        "_time",
        "deadline",
        "limit",
        "next_look",
        "owner",
        "place",
    )

    closed = False

    def __init__(self, deadlines: Deadlines, loop: asyncio.AbstractEventLoop) -> None:
        self._deadlines = deadlines
        self._time = loop.time
        self.owner: Alarms | None = None
        # While the owner looks: the deadline of the next look, and the seconds that were left when it was set, else 0.
        self._look_at = NEVER
        self._seconds = 0.0
        self.deadline = NEVER
        self.next_look = NEVER
        self.limit = NEVER
        self.place: dict[Watched, None] | None = None

    def set(self, seconds: float) -> None:
        """Calls `expired` of the owner in `seconds` from now; a time that was set before does not count any more."""
        self._seconds = 0.0
        deadline = self._time() + seconds
        if deadline > self.limit:  # noqa: PLR1730 -- `min` costs as much as the rest
            deadline = self.limit
        self.deadline = deadline
        if deadline < self.next_look:
            deadlines = self._deadlines
            deadlines.insert(self)

    def set_looking(self, seconds: float) -> None:
        """`set` for an owner that `Looks`: its `looks` is called every `LOOK_SECONDS` until the time has passed."""
        if seconds <= LOOK_SECONDS:
            return self.set(seconds)
        deadline = self._time() + LOOK_SECONDS  # as `set` does, without a call for each request
        if deadline > self.limit:  # noqa: PLR1730
            deadline = self.limit
        self.deadline = deadline
        self._look_at = deadline
        self._seconds = seconds
        if deadline < self.next_look:
            deadlines = self._deadlines
            deadlines.insert(self)

    def look_sooner(self, seconds: float) -> None:
        """The next look is in `seconds` from now, if that is sooner than it would be. Nothing if the owner looks no
        more.
        """
        deadline = self._time() + seconds
        if self._seconds and deadline < self.deadline:
            self._seconds += self.deadline - deadline  # of which `expire` takes away a whole `LOOK_SECONDS`
            self.deadline = deadline
            self._look_at = deadline
            if deadline < self.next_look:
                deadlines = self._deadlines
                deadlines.insert(self)

    def limit_to(self, seconds: float) -> None:
        """No alarm that is set from now on ends later than in `seconds`, until `unlimit`."""
        self.limit = self._time() + seconds

    def unlimit(self) -> None:
        """Removes the limit of `limit_to` from alarms that are set from now on."""
        self.limit = NEVER

    def left(self) -> float:
        """The seconds before the limit; none are left from 0 on."""
        return self.limit - self._time()

    def clear(self) -> None:
        """Ends the alarm. Another owner may use it."""
        self.owner = None
        self.deadline = NEVER

    def expire(self) -> None:
        owner = self.owner
        if owner is None:
            return
        if self._seconds and self.left() > 0:
            late = min(self._time() - self._look_at, 2 * _LATE_SECONDS)  # more was an absence
            self.set_looking(self._seconds - LOOK_SECONDS - late)
            cast("Looks", owner).looks()
        else:
            owner.expired()


class Deadlines:
    """The wheel. It holds objects until `forget`, or until a look finds no deadline. `absences` are the loop's.

    `now` says the loop's time.
    """

    __slots__ = ("_due", "_handle", "_slots", "_tick", "_turned_at", "absences", "loop", "now")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.now = loop.time  # a method of one object for all, because every request asks
        self._slots: dict[int, dict[Watched, None]] = {}
        self._due: OrderedDict[Watched, None] = OrderedDict()  # its first entry is cheap to remove
        self._turned_at = loop.time()
        self.absences = Absences()
        self.absences.beat(self._turned_at, starved_seconds())
        self._tick = int(self._turned_at / TICK_SECONDS)
        self._handle: asyncio.TimerHandle | None = loop.call_later(TICK_SECONDS, self._turn)

    def arm(self, watched: Watched, deadline: float) -> None:
        """Expires `watched` once the loop's time is past `deadline`, unless it is armed again before."""
        watched.deadline = deadline
        if deadline < watched.next_look:
            self.insert(watched)

    def stop(self) -> None:
        """Stops the wheel. No deadline fires afterwards."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._slots.clear()
        self._due.clear()

    def insert(self, watched: Watched) -> None:
        """Looks at `watched` when its deadline has come. Needed only if the deadline is before its `next_look`."""
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
        """`watched` has ended. The wheel drops it, whatever deadline it may still get."""
        if watched.place is not None:
            watched.place.pop(watched, None)
            watched.place = None
        watched.next_look = _ENDED

    def _turn(self) -> None:
        self._handle = self.loop.call_later(TICK_SECONDS, self._turn)
        under_way = bool(self._due)
        now = self.loop.time()
        late = now - self._turned_at - TICK_SECONDS
        self._turned_at = now
        self.absences.beat(now, starved_seconds())
        target = int(now / TICK_SECONDS)
        while self._tick < target:
            self._tick += 1
            for watched in self._slots.pop(self._tick, ()):
                watched.place = self._due
                self._due[watched] = None
                if late > _LATE_SECONDS and watched.deadline <= now:
                    watched.deadline = max(watched.deadline + late, now + TICK_SECONDS)
        if not under_way:
            self._look_at_due()

    def _look_at_due(self) -> None:
        """Expires a few objects now and the others in later turns of the loop."""
        now, left = self.loop.time(), _EXPIRED_A_TURN
        try:
            while left and self._due:
                left -= self._has_expired(self._due.popitem(last=False)[0], now)
        finally:  # an object that fails must not stop the others
            if self._due:
                self.loop.call_soon(self._look_at_due)

    def _has_expired(self, watched: Watched, now: float) -> bool:
        watched.place = None
        watched.next_look = NEVER
        if watched.closed:
            return False
        if watched.deadline <= now:
            watched.deadline = NEVER
            watched.expire()
            return True
        if watched.deadline < NEVER:
            self.insert(watched)
        return False
