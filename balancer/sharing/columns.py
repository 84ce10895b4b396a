"""Reads and writes rows about many things at once, column by column, for the control process, which needs all of them.

A worker reads a few rows often (`Talk`). The control process takes hundreds of them in one turn, so nothing is made for
a single row here. No I/O.
"""

from __future__ import annotations

from array import array
from collections.abc import MutableSequence, Sequence
from math import inf
from typing import NamedTuple

from balancer.sharing.rows import AT, STATE, RowPlace, RowTable, Talk
from balancer.sharing.sums import Column, added, grown, highest, is_sound


class Layer(NamedTuple):
    """One row of each of some things: the numbers of these things, when each row was written, and its state by word."""

    numbers: Sequence[int]
    at: Column
    state: tuple[Column, ...]


class RowReader:
    """The rows of other processes about `things`. `columns` are running totals of what was seen."""

    __slots__ = ("_begun", "_expected", "_layers", "_rows", "_table", "_views", "_words", "columns", "things")

    def __init__(self, table: RowTable, things: Sequence[RowPlace], columns: Sequence[Column]) -> None:
        """`columns` are what is known of `things` already; without any, everything begins with zero."""
        self.things = things
        self.columns: list[Column] = [*columns] or [[0.0] * len(things) for _ in range(table.shape.totals)]
        self._table = table
        self._begun = b""
        self._rows: list[tuple[int, ...]] = []
        self._layers: list[list[int]] = []
        self._views: dict[int, memoryview[float]] = {}  # by where the row lies, in the order of the layers
        self._expected = b""
        self._words = array("d")

    def read(self, *, least: float = 0.0) -> list[Layer] | None:
        """Adds what was seen since the last call, and returns the states of now.

        None: nothing was taken. No first total can have grown by `least`, or rows were left at this moment.
        What a row holds when it is found is no news. A row that makes no sense is ignored.
        """
        words, before, width = self._whole(), self._words, self._table.shape.words
        first = STATE + self._table.shape.state
        if words is None or (least and not self._may_have_grown(words, first, least)):
            return None
        self._words = words
        layers, start = [], 0
        for numbers in self._layers:
            end = start + len(numbers) * width
            of_column = [slice(start + place, end, width) for place in range(width)]
            self._add(numbers, [grown(words[part], before[part]) for part in of_column[first:]])
            layers.append(Layer(numbers, words[of_column[AT]], tuple(words[part] for part in of_column[STATE:first])))
            start = end
        return layers

    def _whole(self) -> array[float] | None:
        """The words of all rows, layer by layer; None if they are not those of the things."""
        begun = self._table.begun()
        if begun != self._begun:
            self._begun = begun
            self._look()
        width, words = self._table.shape.words, array("d", b"".join(self._views.values()))
        if words[::width].tobytes() != self._expected:  # somebody has left a row
            self._look()
            words = array("d", b"".join(self._views.values()))
        return words if words[::width].tobytes() == self._expected else None

    def _may_have_grown(self, words: array[float], first: int, least: float) -> bool:
        width = self._table.shape.words
        news = grown(words[first::width], self._words[first::width])
        return highest(news) * len(self._layers) >= least

    def _add(self, numbers: Sequence[int], news: list[MutableSequence[float]]) -> None:
        _without_nonsense(news)
        for place, column in enumerate(news):
            if len(numbers) == len(self.things):
                self.columns[place] = added(self.columns[place], column)
                continue
            sums = [*self.columns[place]]
            for number, value in zip(numbers, column, strict=True):
                sums[number] += value
            self.columns[place] = sums

    def _look(self) -> None:
        """Finds the rows of the other processes."""
        rows = [*map(self._table.others_about, self.things)]
        if rows == self._rows:
            return
        width = self._table.shape.words
        known = {row: self._words[place * width : (place + 1) * width] for place, row in enumerate(self._views)}
        self._rows = rows
        depth = max(map(len, rows))
        self._layers = [[n for n, found in enumerate(rows) if len(found) > layer] for layer in range(depth)]
        order = [(number, rows[number][layer]) for layer, numbers in enumerate(self._layers) for number in numbers]
        self._views = {row: self._table.row(row) for _, row in order}
        tags = array("d", (self.things[number].tag for number, _ in order))
        self._expected = tags.tobytes()
        self._words = array("d")
        for (row, view), tag in zip(self._views.items(), tags, strict=True):
            before = known.get(row)
            self._words.extend(before if before and before[0] == tag else view)


class RowWriter:
    """The rows of this process about many things, in the order of `talks`."""

    __slots__ = ("_begun", "_rows", "_sources", "_table", "_talks", "_words")

    def __init__(self, talks: Sequence[Talk], table: RowTable) -> None:
        shape = table.shape
        self._talks = talks
        self._table = table
        self._words = array("d", bytes(len(talks) * shape.row_bytes))
        self._words[:: shape.words] = array("d", (talk.tag for talk in talks))
        whole = memoryview(self._words).cast("B").cast("d")
        self._sources = [whole[start : start + shape.words] for start in range(0, len(whole), shape.words)]
        self._rows: list[memoryview[float]] = []
        self._begun: float | None = None  # by this process, when `_rows` were found

    def hold(self, state: Sequence[Column]) -> None:
        """Tells these words of states from now on."""
        self._set(STATE, state)

    def tell(self, now: float, totals: Sequence[Column]) -> None:
        """Tells the totals. A thing without room for a row is not told."""
        shape = self._table.shape
        self._words[AT :: shape.words] = array("d", (now,)) * len(self._talks)
        self._set(STATE + shape.state, totals)
        if self._begun == self._table.begun_here and len(self._rows) == len(self._talks):
            for row, source in zip(self._rows, self._sources, strict=True):
                row[:] = source
            return
        # This process has begun a row since, which may have been one of these; or a thing had no room.
        put = [talk.put(source, now) for talk, source in zip(self._talks, self._sources, strict=True)]
        self._rows = [row for row in put if row is not None]
        self._begun = self._table.begun_here

    def _set(self, first: int, columns: Sequence[Column]) -> None:
        for place, column in enumerate(columns, first):
            self._words[place :: self._table.shape.words] = array("d", column)


def _without_nonsense(news: list[MutableSequence[float]]) -> None:
    """Makes rows 0 of which a word falls or is no number."""
    if all(map(is_sound, news)):
        return  # nearly always
    wrong = [number for number, row in enumerate(zip(*news, strict=True)) if not all(0.0 <= word < inf for word in row)]
    for column, number in ((column, number) for column in news for number in wrong):
        column[number] = 0.0
