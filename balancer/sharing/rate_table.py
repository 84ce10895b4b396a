"""Keeps the due times of many clients in a table of fixed size, which several processes may share. No I/O.

A key belongs to one set of eight slots. An entry whose time has passed says nothing and makes room. If a set has no
such entry, a new key takes the place of the entry that would pass first, together with its time. So an entry that comes
back after it was displaced never finds more freedom than it had: a flood of addresses frees nobody, and it makes the
table stricter, never laxer. Rates of one table should have similar bursts in seconds, because a key whose burst is
shorter than all due times of its set has to wait.
"""

from __future__ import annotations

import struct
from typing import Final

from balancer.sharing.guards import WAYS, Buffer, Guard
from balancer.sharing.rates import Schedule, due_after

_SET: Final = struct.Struct(f"={2 * WAYS}Q")
_WORD: Final = struct.Struct("=Q")

SET_BYTES: Final = _SET.size
"""A set: the keys of its slots, then the due time of each. Key 0 is an empty slot."""


class RateTable:
    """Decides about requests by what was let through before."""

    __slots__ = ("_buffer", "_guard", "_sets", "_start")

    def __init__(self, buffer: Buffer, *, start: int, sets: int, guard: Guard) -> None:
        """The table has `sets` sets, a power of two, from the offset `start` of `buffer`, which is zeroed at first."""
        self._buffer = buffer
        self._start = start
        self._sets = sets
        self._guard = guard

    def take(self, key: int, schedule: Schedule, now: int) -> bool:
        """Whether a request of `key` may pass; if so, it counts.

        `key` is not 0 and below 2**64. `now` is in nanoseconds on a clock that all processes share.
        """
        place = key & (self._sets - 1)
        self._guard.enter(place)
        try:
            return self._take(self._start + place * SET_BYTES, key, schedule, now)
        finally:
            self._guard.leave(place)

    def give_back(self, key: int, schedule: Schedule) -> None:
        """Takes back the count of a request of `key`, because the request is refused for another reason."""
        place = key & (self._sets - 1)
        self._guard.enter(place)
        try:
            at = self._start + place * SET_BYTES
            words = _SET.unpack_from(self._buffer, at)
            if key in words[:WAYS]:
                way = WAYS + words.index(key)
                _WORD.pack_into(self._buffer, at + way * _WORD.size, max(words[way] - schedule.interval, 0))
        finally:
            self._guard.leave(place)

    def charge(self, key: int, schedule: Schedule, count: float, now: int, *, ahead: int) -> None:
        """Counts `count` requests of `key` that passed elsewhere; gives some back if it is negative.

        The debt ends at most `ahead` nanoseconds after the time from which a request would be refused.
        """
        place = key & (self._sets - 1)
        self._guard.enter(place)
        try:
            at = self._start + place * SET_BYTES
            way, due = self._entry(at, key)
            most = max(due, now + schedule.tolerance + ahead)
            charged = max(due, now) + round(count * schedule.interval)
            self._write(at, way, key, max(0, min(charged, most)))
        finally:
            self._guard.leave(place)

    def _take(self, at: int, key: int, schedule: Schedule, now: int) -> bool:
        way, entry_due = self._entry(at, key)
        due = due_after(schedule, entry_due, now)
        if due is None:
            return False
        self._write(at, way, key, due)
        return True

    def _entry(self, at: int, key: int) -> tuple[int, int]:
        """The slot of `key` in the set at `at`, or the slot that it takes over, and the due time there."""
        words = _SET.unpack_from(self._buffer, at)
        keys, dues = words[:WAYS], words[WAYS:]
        way = keys.index(key) if key in keys else dues.index(min(dues))
        return way, dues[way]

    def _write(self, at: int, way: int, key: int, due: int) -> None:
        _WORD.pack_into(self._buffer, at + (WAYS + way) * _WORD.size, due)
        _WORD.pack_into(self._buffer, at + way * _WORD.size, key)
