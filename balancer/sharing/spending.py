"""Keeps how many requests of which client a limit was asked about, and how many passed, as running totals. No I/O.

Due times say nothing to another host, whose clock differs. Totals do: the difference of two totals is what was spent
between them. The table has a fixed number of rows. A new client takes the row of its set that was asked about least
lately, of the namespace that has two rows more there, or else of its own. Its totals begin at 0. Its requests count as
often as those of any new client, until somebody weighs them.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from balancer.sharing.guards import WAYS, Buffer, Guard

_ROW: Final = struct.Struct("=6Q")
_COUNTS: Final = struct.Struct("=3Q")
_COUNTS_AT: Final = 2 * 8
_FACTOR: Final = struct.Struct("=Q")
_FACTOR_AT: Final = 5 * 8
# A factor is stored in these parts of 1; 0 stands for the factor of new clients, and there for 1.
_PARTS: Final = 1024
_SETS: Final = 512
_SET_BYTES: Final = WAYS * _ROW.size
# In front of the rows: how many clients were new so far, and their factor.
_HEAD: Final = struct.Struct("=2Q")
_NEW_FACTOR_AT: Final = 8

TENANT_SHIFT: Final = 40
"""The bits of the number of a limit from this one on say whose limit it is."""

SPENDING_ROWS: Final = _SETS * WAYS
SPENDING_BYTES: Final = _HEAD.size + _SETS * _SET_BYTES


class Spent(NamedTuple):
    """A row: requests of the client with `key` at a limit. `at` is the time of the last one, on the own clock.

    `limit` and `key` are not 0 and below 2**64. `parts` of 1024: how often each request counts; 0 is as often as for
    new clients.
    """

    limit: int
    key: int
    asked: int
    passed: int
    at: int
    parts: int = 0


class Spending:
    """The table, which several processes may write."""

    __slots__ = ("_buffer", "_guard", "_start")

    def __init__(self, buffer: Buffer, *, start: int, guard: Guard) -> None:
        """The table has `SPENDING_BYTES` from the offset `start` of `buffer`, zero at first."""
        self._buffer = buffer
        self._start = start
        self._guard = guard

    def count(self, limit: int, key: int, *, passed: bool, now: int) -> None:
        """Counts one request that came at `now` (nanoseconds)."""
        number = key % _SETS
        self._guard.enter(number)
        try:
            self._count(limit, key, passed, now)
        finally:
            self._guard.leave(number)

    def factor(self, limit: int, key: int) -> float:
        """How often each request of a client counts, because others let requests of the client pass as well."""
        at = self._found(limit, key)
        parts = 0 if at is None else _FACTOR.unpack_from(self._buffer, at + _FACTOR_AT)[0]
        if not parts:
            parts = _FACTOR.unpack_from(self._buffer, self._start + _NEW_FACTOR_AT)[0]
        return parts / _PARTS if parts else 1.0

    def weigh(self, limit: int, key: int, factor: float) -> None:
        """Sets the factor of a client, if the client has a row."""
        at = self._found(limit, key)
        if at is not None:
            _FACTOR.pack_into(self._buffer, at + _FACTOR_AT, max(1, round(factor * _PARTS)))

    def weigh_new(self, factor: float) -> None:
        """Sets the factor of clients that nobody has weighed yet."""
        _FACTOR.pack_into(self._buffer, self._start + _NEW_FACTOR_AT, max(1, round(factor * _PARTS)))

    def arrivals(self) -> int:
        """A number that changes when a client is new. Processes that count at once may lose a step of it."""
        return int(_FACTOR.unpack_from(self._buffer, self._start)[0])

    def forget(self, limit: int, key: int) -> None:
        """Empties the row of a client, which is new when it comes back."""
        number = key % _SETS
        self._guard.enter(number)
        try:
            at = self._found(limit, key)
            if at is not None:
                _ROW.pack_into(self._buffer, at, 0, 0, 0, 0, 0, 0)
        finally:
            self._guard.leave(number)

    def rows(self, since: int) -> Iterator[Spent]:
        """The rows of clients whose last request came at `since` or later."""
        begin, end = self._start + _HEAD.size, self._start + SPENDING_BYTES
        with memoryview(self._buffer) as whole, whole[begin:end] as table:
            found = [Spent(*row) for row in _ROW.iter_unpack(table) if row[0] and row[4] >= since]
        return iter(found)

    def _set_of(self, key: int) -> range:
        start = self._start + _HEAD.size + key % _SETS * _SET_BYTES
        return range(start, start + _SET_BYTES, _ROW.size)

    def _found(self, limit: int, key: int) -> int | None:
        """Where the row of a client begins; None if there is none."""
        for at in self._set_of(key):
            if _ROW.unpack_from(self._buffer, at)[:2] == (limit, key):
                return at
        return None

    def _count(self, limit: int, key: int, passed: bool, now: int) -> None:
        known: list[_Row] = []
        for at in self._set_of(key):
            its_limit, its_key, asked, so_far, last, _ = _ROW.unpack_from(self._buffer, at)
            if its_key == key and its_limit == limit:
                _COUNTS.pack_into(self._buffer, at + _COUNTS_AT, asked + 1, so_far + passed, now)
                return
            known.append(_Row(last, at, its_limit >> TENANT_SHIFT))
        taken = _given_up(known, limit >> TENANT_SHIFT)
        _ROW.pack_into(self._buffer, taken, limit, key, 1, int(passed), now, 0)
        _FACTOR.pack_into(self._buffer, self._start, self.arrivals() + 1)


class _Row(NamedTuple):
    """A row of a set: when it was asked about last (0: it is empty), where it begins, and whose limit it is about."""

    last: int
    at: int
    tenant: int


def _given_up(rows: list[_Row], tenant: int) -> int:
    """Where a new client of a tenant gets its row, in a full or partly empty set."""
    oldest = min(rows)
    if not oldest.last:
        return oldest.at
    held = Counter(row.tenant for row in rows)
    ((fullest, most),) = held.most_common(1)
    loser = fullest if most >= held[tenant] + 2 else tenant
    return min([row for row in rows if row.tenant == loser] or rows).at
