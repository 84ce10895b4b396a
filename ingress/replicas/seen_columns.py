"""What workers saw of many things, column by column: as it is known, told, and read from a message. No I/O.

A replica tells another one of its zone about hundreds of backends twice a second. So nothing is made for a single one.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import compress, repeat
from operator import mul, ne, truediv
from typing import Final, NamedTuple

from balancer.sharing.peers import Seen
from balancer.sharing.sums import Column, highest, is_sound, total
from balancer.sharing.zone_peers import PLACES
from ingress.replicas.messages import ROWS_MOST, MessageRefusal, MessageRefused, SeenRow, SeenTable

_MICROS: Final = 1_000_000.0
# One request takes no longer than that, so totals that say so are wrong.
_SECONDS_MOST: Final = 3600.0
_TAGS: Final = 2**52
_WORD_BYTES: Final = 8
# Replicas of a zone tell of the same things, so few lists of tags come again and again. One has 32 KiB at most.
_TAGS_KEPT: Final = 16


class Columns(NamedTuple):
    """What the totals and the state of a row mean: by which factors replicas of schema 1 tell them. Counts have 1.

    No word of a state is above that of `most`. Rows in which the first count has grown by less than `few` are told as
    of each second reading only.
    """

    totals: tuple[float, ...]
    state: tuple[float, ...] = ()
    most: tuple[float, ...] = ()
    few: int = 0

    def are_plausible(self, news: Sequence[Column], requests_most: float) -> bool:
        """Whether totals of rows, by column, can have grown by that at once, if no more than so many requests came."""
        counts = [column for column, factor in zip(news, self.totals, strict=True) if factor == 1.0]
        times = [column for column, factor in zip(news, self.totals, strict=True) if factor != 1.0]
        most = _SECONDS_MOST * len(counts)
        if sum(map(total, counts)) <= requests_most and sum(map(total, times)) <= most:
            return True  # nearly always: not even all rows together have grown by what one may grow
        if max(map(highest, counts)) > requests_most:
            return False
        rows = zip(zip(*counts, strict=True), zip(*times, strict=True), strict=True)
        return all(sum(seconds) <= (max(requests) + 1) * most for requests, seconds in rows)


LOADS: Final = Columns((1.0, 1.0, 1.0, _MICROS, 1.0, _MICROS), (10_000.0, _MICROS), (1.0, _SECONDS_MOST), few=32)
"""What controllers of `adaptive` see of a backend (`Seen`), their share and their baseline. Their averages need some
hundred answers, so half a second more does not matter where few requests come.
"""

ZONES: Final = Columns((1.0,) * (2 * PLACES) + (_MICROS,))
"""Answers of a zone of a backend that fails (`ZoneSeen`)."""

assert len(LOADS.totals) == len(Seen._fields)


class SeenColumns(NamedTuple):
    """Running totals of the things with these `tags`, and their states, by column. The last word of a state that
    nobody knows is 0.
    """

    tags: tuple[int, ...] = ()
    totals: tuple[Column, ...] = ()
    state: tuple[Column, ...] = ()

    def chosen(self, chosen: Sequence[bool], turn: int) -> SeenColumns:
        """The rows that are chosen, as many as a message may have: of more, other ones in each turn."""
        if len(self.tags) <= ROWS_MOST and all(chosen):
            return self
        places = [*compress(range(len(self.tags)), chosen)]
        if len(places) > ROWS_MOST:
            first = turn * ROWS_MOST % len(places)
            places = (places * 2)[first : first + ROWS_MOST]
        totals, state = (
            tuple([column[place] for place in places] for column in columns) for columns in (self.totals, self.state)
        )
        return SeenColumns(tuple(self.tags[place] for place in places), totals, state)


class TellingColumns:
    """What own workers saw, as it is told: what is new with the last reading, and all of it.

    `edition` is the number of readings with news. What is told is packed once, however many replicas hear it.
    """

    __slots__ = ("_changed", "_columns", "_seen", "_tables", "_told", "edition")

    def __init__(self, columns: Columns) -> None:
        self.edition = 0
        self._columns = columns
        self._seen = SeenColumns()
        self._changed = SeenColumns()
        self._told: dict[int, tuple[float, ...]] = {}  # the totals that were told last
        self._tables: dict[int, SeenTable] = {}  # by the edition that is known

    def read(self, seen: SeenColumns, *, least: float = 0.0) -> None:
        """This is what workers have seen by now. Rows whose first total has grown by less than `least` come later."""
        if seen.tags != self._seen.tags:
            self._told = {tag: self._told[tag] for tag in seen.tags if tag in self._told}
        nothing = (0.0,) * len(seen.totals)
        rows = [*zip(*seen.totals, strict=True)]
        told = [*map(self._told.get, seen.tags, repeat(nothing))]
        is_due = [*map(ne, rows, told)]
        if least:
            is_due = [row[0] - before[0] >= least for row, before in zip(rows, told, strict=True)]
        self._seen = seen
        self._tables = {}
        if any(is_due):
            self._changed = seen.chosen(is_due, self.edition)
            self._told.update(zip(self._changed.tags, zip(*self._changed.totals, strict=True), strict=True))
            self.edition += 1

    def table_since(self, edition: int) -> SeenTable | None:
        """What is told to one who knows this edition: what is new since the one before the present one, else all.

        Rows of which workers saw nothing yet are left out. None: there is nothing to tell.
        """
        if edition not in self._tables:
            self._tables[edition] = packed(self._since(edition))
        table = self._tables[edition]
        return table if table.tags else None

    def rows_since(self, edition: int) -> tuple[SeenRow, ...]:
        """What `table_since` tells, for a replica of schema 1."""
        seen = self._since(edition)
        return rows_of(seen, self._columns) if seen.tags else ()

    def _since(self, edition: int) -> SeenColumns:
        if edition == self.edition:
            return SeenColumns()
        if edition == self.edition - 1:
            return self._changed
        return self._seen.chosen([*map(any, zip(*self._seen.totals, strict=True))], self.edition)

    def forget(self) -> None:
        """Nothing is told until the next reading."""
        if self._seen.tags:
            self._seen = SeenColumns()
            self._changed = SeenColumns()
            self._told = {}
            self._tables = {}
            self.edition += 1


def packed(seen: SeenColumns) -> SeenTable:
    """The columns as they go on the wire."""
    return SeenTable(struct.pack(f"<{len(seen.tags)}Q", *seen.tags), _packed(seen.totals), _packed(seen.state))


def unpacked(table: SeenTable) -> SeenColumns:
    """The columns in a message. Raises `MessageRefused`."""
    tags = _tags(table.tags)
    return SeenColumns(tags, _columns(len(tags), table.totals), _columns(len(tags), table.state))


def _packed(columns: Sequence[Column]) -> bytes:
    words = array("d")
    for column in columns:
        words.extend(array("d", column))
    return _lowest_first(words).tobytes()


@lru_cache(maxsize=_TAGS_KEPT)
def _tags(data: bytes) -> tuple[int, ...]:
    tags = struct.unpack(f"<{_count(data)}Q", data)
    if not 0 < len(tags) <= ROWS_MOST or len({*tags}) < len(tags) or min(tags) < 1 or max(tags) >= _TAGS:
        raise MessageRefused(MessageRefusal.MALFORMED)
    return tags


def _columns(things: int, data: bytes) -> tuple[Column, ...]:
    if _count(data) % things or not is_sound(words := _lowest_first(array("d", data))):
        raise MessageRefused(MessageRefusal.MALFORMED)
    return tuple(words[start : start + things] for start in range(0, len(words), things))


def _lowest_first(words: array[float]) -> array[float]:
    """Turns words of this machine into those of a message, or back."""
    if sys.byteorder == "big":
        words.byteswap()
    return words


def _count(data: bytes) -> int:
    if len(data) % _WORD_BYTES:
        raise MessageRefused(MessageRefusal.MALFORMED)
    return len(data) // _WORD_BYTES


def rows_of(seen: SeenColumns, columns: Columns) -> tuple[SeenRow, ...]:
    """The columns as replicas of schema 1 are told of them."""
    totals = zip(*_scaled(seen.totals, columns.totals), strict=True)
    states = zip(*_scaled(seen.state, columns.state), strict=True) if seen.state else [()] * len(seen.tags)
    told = zip(seen.tags, totals, states, strict=True)
    return tuple(SeenRow(tag, row, state if any(state) else ()) for tag, row, state in told)


def columns_of(rows: Sequence[SeenRow], columns: Columns) -> SeenColumns:
    """What a replica of schema 1 told. Raises `MessageRefused` for rows that are about something else."""
    unknown = (0,) * len(columns.state)
    states = [row.state or unknown for row in rows]
    tags = tuple(row.tag for row in rows)
    widths = {len(row.totals) for row in rows}, {*map(len, states)}
    if widths != ({len(columns.totals)}, {len(columns.state)}) or len({*tags}) < len(tags):
        raise MessageRefused(MessageRefusal.IMPLAUSIBLE)
    return SeenColumns(
        tags,
        _read(zip(*(row.totals for row in rows), strict=True), columns.totals),
        _read(zip(*states, strict=True), columns.state),
    )


def _read(columns: Iterable[Sequence[int]], factors: Sequence[float]) -> tuple[Column, ...]:
    return tuple([*map(truediv, column, repeat(by))] for column, by in zip(columns, factors, strict=True))


def _scaled(columns: Sequence[Column], factors: Sequence[float]) -> list[list[int]]:
    return [[*map(round, map(mul, column, repeat(by)))] for column, by in zip(columns, factors, strict=True)]
