"""Finds which slots of the counter tables have grown since the last look, and by how much.

A table is compared with its copy block by block, so a look costs little where nothing has happened, however large the
table is. Does not know what a series counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from balancer.metrics.slots import Buffer, Key
from balancer.metrics.totals import TableIndex, Totals

_BLOCK_SLOTS: Final = 64
_SLOT_BYTES: Final = 8
_BLOCK_BYTES: Final = _BLOCK_SLOTS * _SLOT_BYTES
# By measurement a slot that has grown takes 1.5 microseconds and a block without news 0.6, so a slice takes about 50.
_SLOTS_PER_SLICE: Final = 30
_BLOCKS_PER_SLICE: Final = 80


class Increment(NamedTuple):
    """Slot `offset` of the series `key` has grown by `amount`, in one of the tables."""

    key: Key
    offset: int
    amount: float


class Increments:
    """The growth of all tables. The first look finds everything that was counted before it."""

    __slots__ = ("_copies", "_totals")

    def __init__(self, totals: Totals) -> None:
        """`totals` may be shared with whoever else reads the same tables."""
        self._totals = totals
        self._copies: dict[int, bytes] = {}

    def look(self, buffers: Iterable[Buffer]) -> Iterator[list[Increment]]:
        """Yields what has grown since the last look, in slices of work. A slice may be empty.

        Each look must be iterated to its end, and before the next one begins.
        """
        for _ in self._totals.take_up(buffers):
            yield []
        for table in self._totals.tables():
            yield from self._of(table)

    def _of(self, table: TableIndex) -> Iterator[list[Increment]]:
        now = bytes(table.reader.values[: table.slots])
        before = self._copies.get(id(table), b"")
        if len(before) < len(now):
            before += bytes(len(now) - len(before))
        self._copies[id(table)] = now
        found: list[Increment] = []
        for number, start in enumerate(range(0, len(now), _BLOCK_BYTES), 1):
            end = start + _BLOCK_BYTES
            if now[start:end] != before[start:end]:
                found += _grown(table, now[start:end], before[start:end], start // _SLOT_BYTES)
            if len(found) >= _SLOTS_PER_SLICE or number % _BLOCKS_PER_SLICE == 0:
                yield found
                found = []
        yield found


def _grown(table: TableIndex, now: bytes, before: bytes, first: int) -> Iterator[Increment]:
    """The slots of one block that have grown. `first` is the number of its first slot."""
    values = zip(memoryview(now).cast("d"), memoryview(before).cast("d"), strict=True)
    for slot, (value, known) in enumerate(values, first):
        if value != known:
            run = bisect_right(table.firsts, slot) - 1
            yield Increment(table.keys[run], slot - table.firsts[run], value - known)
