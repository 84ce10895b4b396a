"""Keeps how many requests of which client a limit was asked about, and how many passed, as running totals. No I/O.

Due times say nothing to another host, whose clock differs. Totals do: the difference of two totals is what was spent
between them. The table has a fixed number of rows. A new client takes the row of its set that was asked about least
lately, and its totals begin at 0.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from balancer.sharing.guards import WAYS, Buffer, Guard

_ROW: Final = struct.Struct("=5Q")
_SETS: Final = 512
_SET_BYTES: Final = WAYS * _ROW.size

SPENDING_ROWS: Final = _SETS * WAYS
SPENDING_BYTES: Final = _SETS * _SET_BYTES


class Spent(NamedTuple):
    """A row: requests of the client with `key` at a limit. `at` is the time of the last one, on the own clock.

    `limit` and `key` are not 0 and below 2**64.
    """

    limit: int
    key: int
    asked: int
    passed: int
    at: int


class Spending:
    """The table, which several processes may write."""

    __slots__ = ("_buffer", "_guard", "_start")

    def __init__(self, buffer: Buffer, *, start: int, guard: Guard) -> None:
        """The table has `SPENDING_BYTES` from the offset `start` of `buffer`, zero at first."""
        self._buffer, self._start, self._guard = buffer, start, guard

    def count(self, limit: int, key: int, *, passed: bool, now: int) -> None:
        """Counts one request that came at `now` (nanoseconds)."""
        number = key % _SETS
        self._guard.enter(number)
        try:
            self._count(self._start + number * _SET_BYTES, limit, key, passed, now)
        finally:
            self._guard.leave(number)

    def rows(self, since: int) -> Iterator[Spent]:
        """The rows of clients whose last request came at `since` or later."""
        with memoryview(self._buffer) as whole, whole[self._start : self._start + SPENDING_BYTES] as table:
            found = [Spent(*row) for row in _ROW.iter_unpack(table) if row[0] and row[4] >= since]
        return iter(found)

    def _count(self, start: int, limit: int, key: int, passed: bool, now: int) -> None:
        oldest, oldest_at = start, 2**64
        for at in range(start, start + _SET_BYTES, _ROW.size):
            its_limit, its_key, asked, so_far, last = _ROW.unpack_from(self._buffer, at)
            if its_key == key and its_limit == limit:
                _ROW.pack_into(self._buffer, at, limit, key, asked + 1, so_far + passed, now)
                return
            if last < oldest_at:
                oldest, oldest_at = at, last
        _ROW.pack_into(self._buffer, oldest, limit, key, 1, int(passed), now)
