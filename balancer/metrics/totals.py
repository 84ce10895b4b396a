"""Adds up the counter tables of all workers, series by series.

Looks at each entry of a table once, however often its values are read. Does not know what a series counts, nor how it
is shown.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Final

from balancer.metrics.slots import OVERFLOW, Buffer, Key, Run, TableReader

# By measurement an entry takes 3 microseconds, so a slice takes about a third of a millisecond.
_ENTRIES_PER_SLICE: Final = 100


class Series:
    """One series: its key, and where its values are in each table. `text` is a cache for whoever shows the series."""

    __slots__ = ("_places", "key", "text")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.text = ""
        self._places: list[tuple[memoryview[float], int, int]] = []

    def found(self, values: memoryview[float], first: int, end: int) -> None:
        """Adds the slots of the series in one more table."""
        self._places.append((values, first, end))

    @property
    def value(self) -> float:
        """The sum of the first slots."""
        if len(self._places) == 1:
            values, first, _ = self._places[0]
            return values[first]
        return sum([values[first] for values, first, _ in self._places])

    @property
    def values(self) -> list[float]:
        """The sums of all slots."""
        columns = [list(values[first:end]) for values, first, end in self._places]
        return columns[0] if len(columns) == 1 else [sum(column) for column in zip(*columns, strict=True)]


class TableIndex:
    """Where the series of one table begin: `firsts[N]` is the first slot of `keys[N]`, ascending."""

    __slots__ = ("firsts", "keys", "reader", "slots")

    def __init__(self, buffer: Buffer) -> None:
        self.reader = TableReader(buffer)
        self.firsts: list[int] = []
        self.keys: list[Key] = []
        self.slots = 0

    def found(self, run: Run, key: Key) -> None:
        """Adds the next run of the table. `key` equals that of the run, and may be shared with other tables."""
        self.firsts.append(run.first)
        self.keys.append(key)
        self.slots = run.first + run.width


class Totals:
    """The series of all tables, by the number of their metric, in the order in which they were found."""

    __slots__ = ("_known", "_names", "_refusals", "_series", "_tables")

    def __init__(self) -> None:
        self._tables: dict[int, TableIndex] = {}
        self._known: dict[Key, Series] = {}
        self._series: dict[int, list[Series]] = {}
        self._names: dict[str, str] = {}
        self._refusals = Series(OVERFLOW)

    def take_up(self, buffers: Iterable[Buffer]) -> Generator[None, None, None]:
        """Looks at new entries of the tables, and yields after each slice of work. Tables are never removed."""
        count = 0
        for buffer in buffers:
            # the reader keeps the buffer, so its id stays unique
            if (table := self._tables.get(id(buffer))) is None:
                table = self._tables[id(buffer)] = TableIndex(buffer)
            for run in table.reader.news():
                table.found(run, self._found(run, table.reader.values))
                count += 1
                if count % _ENTRIES_PER_SLICE == 0:
                    yield

    def of(self, metric: int) -> list[Series]:
        """The series of a metric. The list grows when tables are taken up."""
        return self._series.setdefault(metric, [])

    def tables(self) -> list[TableIndex]:
        """The tables that were taken up, in the order in which they came."""
        return list(self._tables.values())

    @property
    def refused(self) -> float:
        """How often a table was full."""
        return self._refusals.value

    def _found(self, run: Run, values: memoryview[float]) -> Key:
        """Adds a run to its series. Returns the key of the series."""
        key = run.key
        if key == OVERFLOW:
            self._refusals.found(values, run.first, run.first + run.width)
            return OVERFLOW
        series = self._known.get(key)
        if series is None:
            # Most keys contain the same few names.
            labels = tuple([self._names.setdefault(name, name) for name in key.labels])
            series = Series(Key(key.metric, labels))
            self._known[series.key] = series
            self.of(key.metric).append(series)
        series.found(values, run.first, run.first + run.width)
        return series.key
