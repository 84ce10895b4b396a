"""Reads and writes rows about many things at once, column by column, for the control process, which needs all of them.

A worker reads a few rows often (`Talk`). The control process takes hundreds of them in one turn, so nothing is made for
a single row here. No I/O.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from math import inf, isfinite
from operator import add, sub
from typing import Final, NamedTuple

from balancer.sharing.rows import AT, STATE, RowPlace, RowShape, RowTable, Talk

# How often to look for rows of processes that were not known.
_LOOK_SECONDS: Final = 1.0

Column = Sequence[float]
"""One word of each row, in the order of the things."""


class Layer(NamedTuple):
    """One row of each of some things: the numbers of these things, when each row was written, and its state by word."""

    numbers: Sequence[int]
    at: Column
    state: tuple[Column, ...]


class RowReader:
    """The rows of other processes about `things`. `columns` are running totals of what was seen."""

    __slots__ = ("_data", "_expected", "_layers", "_look_at", "_rows", "_seen", "_table", "_views", "columns", "things")

    def __init__(self, table: RowTable, things: Sequence[RowPlace], columns: Sequence[Column]) -> None:
        """`columns` are what is known of `things` already; without any, everything begins with zero."""
        self.things = things
        self.columns: list[Column] = [*columns] or [[0.0] * len(things) for _ in range(table.shape.totals)]
        self._table = table
        self._look_at = -inf
        self._seen: list[bytes] = [b""] * len(things)
        self._rows: list[tuple[int, ...]] = [()] * len(things)
        self._layers: list[list[int]] = []
        self._views: dict[int, memoryview[float]] = {}  # by where the row lies, in the order of the layers
        self._expected = b""
        self._data = b""

    def read(self, now: float) -> list[Layer]:
        """Adds what was seen since the last call, and returns the states of now.

        What a row holds when it is found is no news. A row that makes no sense is ignored.
        """
        if now >= self._look_at:
            self._look_at = now + _LOOK_SECONDS
            self._look()
        if self._tags_of(data := b"".join(self._views.values())) != self._expected:
            self._look()  # somebody has left a row
            if self._tags_of(data := b"".join(self._views.values())) != self._expected:
                return []
        words, before, width = array("d", data), array("d", self._data), self._table.shape.words
        self._data = data
        layers, start = [], 0
        for numbers in self._layers:
            end = start + len(numbers) * width
            of_column = [slice(start + place, end, width) for place in range(width)]
            first = STATE + self._table.shape.state
            self._add(numbers, [[*map(sub, words[part], before[part])] for part in of_column[first:]])
            layers.append(Layer(numbers, words[of_column[AT]], tuple(words[part] for part in of_column[STATE:first])))
            start = end
        return layers

    def _add(self, numbers: Sequence[int], news: list[list[float]]) -> None:
        _without_nonsense(news)
        for place, column in enumerate(news):
            if len(numbers) == len(self.things):
                self.columns[place] = [*map(add, self.columns[place], column)]
                continue
            sums = [*self.columns[place]]
            for number, value in zip(numbers, column, strict=True):
                sums[number] += value
            self.columns[place] = sums

    def _look(self) -> None:
        """Finds the rows of the other processes."""
        has_changed = False
        for number, thing in enumerate(self.things):
            tags = self._table.tags_at(thing)
            if tags != self._seen[number]:
                self._seen[number] = tags
                rows = self._table.others_about(thing)
                has_changed = has_changed or rows != self._rows[number]
                self._rows[number] = rows
        if has_changed:
            self._arrange()

    def _arrange(self) -> None:
        size = self._table.shape.row_bytes
        known = {row: self._data[place * size : (place + 1) * size] for place, row in enumerate(self._views)}
        depth = max(map(len, self._rows))
        self._layers = [[n for n, rows in enumerate(self._rows) if len(rows) > layer] for layer in range(depth)]
        order = [
            (number, self._rows[number][layer]) for layer, numbers in enumerate(self._layers) for number in numbers
        ]
        self._views = {row: self._table.row(row) for _, row in order}
        self._expected = array("d", (self.things[number].tag for number, _ in order)).tobytes()
        self._data = b"".join(known.get(row) or view.tobytes() for row, view in self._views.items())

    def _tags_of(self, data: bytes) -> bytes:
        return array("d", data)[:: self._table.shape.words].tobytes()


class RowWriter:
    """The rows of this process about many things, in the order of `talks`."""

    __slots__ = ("_rows", "_shape", "_sources", "_talks", "_words")

    def __init__(self, talks: Sequence[Talk], shape: RowShape) -> None:
        self._talks = talks
        self._shape = shape
        self._words = array("d", bytes(len(talks) * shape.row_bytes))
        self._words[:: shape.words] = array("d", (talk.tag for talk in talks))
        whole = memoryview(self._words).cast("B").cast("d")
        self._sources = [whole[start : start + shape.words] for start in range(0, len(whole), shape.words)]
        self._rows: list[memoryview[float] | None] = [None] * len(talks)

    def hold(self, state: Sequence[Column]) -> None:
        """Tells these words of states from now on."""
        self._set(STATE, state)

    def tell(self, now: float, totals: Sequence[Column]) -> None:
        """Tells the totals. A thing without room for a row is not told."""
        self._words[AT :: self._shape.words] = array("d", (now,)) * len(self._talks)
        self._set(STATE + self._shape.state, totals)
        rows = self._rows
        for number, (row, source) in enumerate(zip(rows, self._sources, strict=True)):
            if row is not None and row[0] == source[0]:
                row[:] = source
            else:
                rows[number] = self._talks[number].put(source, now)

    def _set(self, first: int, columns: Sequence[Column]) -> None:
        for place, column in enumerate(columns, first):
            self._words[place :: self._shape.words] = array("d", column)


def _without_nonsense(news: list[list[float]]) -> None:
    """Makes rows 0 of which a word falls or is no number."""
    if all(isfinite(sum(column)) and min(column) >= 0.0 for column in news):
        return  # nearly always
    wrong = [number for number, row in enumerate(zip(*news, strict=True)) if not all(0.0 <= word < inf for word in row)]
    for column, number in ((column, number) for column in news for number in wrong):
        column[number] = 0.0
