"""Counts the requests in flight of many clients in a table of fixed size, which several processes may share. No I/O.

Each process writes its counts in a column of its own, its seat, together with the tenancy of the seat. When a process
is gone, its seat gets another tenancy, so none of its counts counts any more. A slot without counts makes room. If a
set has no such slot, a new key shares the slot that its hash chooses, and both are counted together.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from balancer.sharing.guards import WAYS, Buffer, Guard

_KEYS: Final = struct.Struct(f"={WAYS}Q")
_KEY: Final = struct.Struct("=Q")
# A cell holds the tenancy of its seat, and below it the count.
_CELL: Final = struct.Struct("=I")
_COUNT_BITS: Final = 16
_COUNT_MOST: Final = 2**_COUNT_BITS - 1
_TENANCIES: Final = 2**16
_SHARED_WAY_BITS: Final = 60  # bits of the key that do not choose the set


def flight_table_bytes(*, sets: int, seats: int) -> int:
    """The size of a table: the tenancies of its seats, then its sets."""
    return seats * _CELL.size + sets * _set_bytes(seats)


def vacate_flights(buffer: Buffer, start: int, seat: int) -> None:
    """Drops the counts of the process that had `seat` of the table at `start`. The process must be gone."""
    at = start + seat * _CELL.size
    _CELL.pack_into(buffer, at, (_CELL.unpack_from(buffer, at)[0] + 1) % _TENANCIES)


class FlightTable:
    """The table as the process with one seat sees it."""

    __slots__ = ("_buffer", "_cells", "_guard", "_seat", "_set_bytes", "_sets", "_sets_at", "_start", "_tenancy")

    def __init__(self, buffer: Buffer, *, start: int, sets: int, seats: int, seat: int, guard: Guard) -> None:
        """The table begins at the offset `start` of `buffer`, which is zeroed at first. `sets` is a power of two."""
        self._buffer = buffer
        self._start = start
        self._guard = guard
        self._sets = sets
        self._cells = struct.Struct(f"={seats}I")
        self._set_bytes = _set_bytes(seats)
        self._sets_at = start + self._cells.size
        self._seat = seat
        self._tenancy: int = self._cells.unpack_from(buffer, start)[seat]

    def enter(self, key: int, most: int) -> int | None:
        """Counts a request of `key` and returns its place for `leave`; None if `most` are in flight already.

        `key` is not 0 and below 2**64.
        """
        number = key & (self._sets - 1)
        self._guard.enter(number)
        try:
            return self._enter(self._sets_at + number * self._set_bytes, key, most)
        finally:
            self._guard.leave(number)

    def leave(self, place: int) -> None:
        """Removes the count of `enter` at `place`, because the request is over. Only this process writes there."""
        cell = _CELL.unpack_from(self._buffer, place)[0]
        _CELL.pack_into(self._buffer, place, cell - 1)

    def _enter(self, at: int, key: int, most: int) -> int | None:
        tenancies = self._cells.unpack_from(self._buffer, self._start)
        way, cells = self._slot(at, key, tenancies)
        mine = cells[self._seat]
        own = mine & _COUNT_MOST if mine >> _COUNT_BITS == self._tenancy else 0
        if _sum(cells, tenancies) >= most or own == _COUNT_MOST:
            return None
        place = self._cells_at(at, way) + self._seat * _CELL.size
        _CELL.pack_into(self._buffer, place, self._tenancy << _COUNT_BITS | own + 1)
        return place

    def _slot(self, at: int, key: int, tenancies: Sequence[int]) -> tuple[int, Sequence[int]]:
        """The slot that counts `key`, which may be a new one, and its cells."""
        keys = _KEYS.unpack_from(self._buffer, at)
        if key in keys:
            way = keys.index(key)
            return way, self._cells.unpack_from(self._buffer, self._cells_at(at, way))
        for way in range(WAYS):
            cells = self._cells.unpack_from(self._buffer, self._cells_at(at, way))
            if not _sum(cells, tenancies):
                _KEY.pack_into(self._buffer, at + way * _KEY.size, key)
                return way, cells
        way = (key >> _SHARED_WAY_BITS) % WAYS
        return way, self._cells.unpack_from(self._buffer, self._cells_at(at, way))

    def _cells_at(self, at: int, way: int) -> int:
        return at + _KEYS.size + way * self._cells.size


def _set_bytes(seats: int) -> int:
    """The size of a set: the keys of its slots, then the cells of each slot."""
    return _KEYS.size + WAYS * seats * _CELL.size


def _sum(cells: Sequence[int], tenancies: Sequence[int]) -> int:
    """The requests in flight that a slot counts."""
    if not any(cells):
        return 0
    return sum(
        cell & _COUNT_MOST for cell, tenancy in zip(cells, tenancies, strict=True) if cell >> _COUNT_BITS == tenancy
    )
