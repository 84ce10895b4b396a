"""Keeps the due times of many clients in a table of fixed size, which several processes may share. No I/O.

A key belongs to one set of eight slots. An entry whose times have passed says nothing and makes room. If a set has no
such entry, a new key takes the place of the entry that would pass first, together with its times. So an entry that
comes back after it was displaced never finds more freedom than it had: a flood of addresses frees nobody, and it makes
the table stricter, never laxer.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from balancer.matching.limits.memory import WAYS, Buffer, Guard
from balancer.matching.limits.rates import Schedule, due_after

RATES_MOST: Final = 2
"""Schedules of one entry: those of limit-rps and limit-rpm."""

_SET: Final = struct.Struct(f"={WAYS * (1 + RATES_MOST)}Q")
_WORD: Final = struct.Struct("=Q")

SET_BYTES: Final = _SET.size
"""A set: the keys of its slots, then the first due time of each, then the second. Key 0 is an empty slot."""


class RateTable:
    """Decides about requests by what was let through before."""

    __slots__ = ("_buffer", "_guard", "_sets", "_start")

    def __init__(self, buffer: Buffer, *, start: int, sets: int, guard: Guard) -> None:
        """The table has `sets` sets, a power of two, from the offset `start` of `buffer`, which is zeroed at first."""
        self._buffer, self._start, self._sets, self._guard = buffer, start, sets, guard

    def take(self, key: int, schedules: Sequence[Schedule], now: int) -> bool:
        """Whether a request of `key` may pass under all of its one or two `schedules`; if so, it counts.

        `key` is not 0 and below 2**64. `now` is in nanoseconds on a clock that all processes share.
        """
        place = key & (self._sets - 1)
        self._guard.enter(place)
        try:
            return self._take(self._start + place * SET_BYTES, key, schedules, now)
        finally:
            self._guard.leave(place)

    def _take(self, at: int, key: int, schedules: Sequence[Schedule], now: int) -> bool:
        words = _SET.unpack_from(self._buffer, at)
        keys = words[:WAYS]
        if key in keys:
            way = keys.index(key)
            known: Sequence[int] = words[WAYS + way :: WAYS]
        else:
            way, known = _room(words, schedules, now)
        dues = [0] * RATES_MOST
        for number, schedule in enumerate(schedules):
            due = due_after(schedule, known[number], now)
            if due is None:
                return False
            dues[number] = due
        for number, word in enumerate((key, *dues)):
            _WORD.pack_into(self._buffer, at + (number * WAYS + way) * _WORD.size, word)
        return True


def _room(words: Sequence[int], schedules: Sequence[Schedule], now: int) -> tuple[int, list[int]]:
    """The slot for a new key, and the due times that it begins with."""
    passed = [max(words[WAYS + way :: WAYS]) for way in range(WAYS)]
    way = min(range(WAYS), key=passed.__getitem__)
    return way, [min(passed[way], now + schedule.most) for schedule in schedules]
