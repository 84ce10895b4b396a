"""Adds up the counter tables of all workers, series by series.

Looks at each entry of a table once, however often its values are read. Does not know what a series counts, nor how it
is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from balancer.metrics.slots import OVERFLOW, Buffer, Key, Run, TableReader

# By measurement an entry takes 3 microseconds, so a slice takes about 1 ms.
_ENTRIES_PER_SLICE: Final = 300


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


class Totals:
    """Every series of all tables, by the number of its metric, in the order in which they were found."""

    __slots__ = ("_known", "_names", "_readers", "_refusals", "_series")

    def __init__(self) -> None:
        self._readers: dict[int, TableReader] = {}
        self._known: dict[Key, Series] = {}
        self._series: dict[int, list[Series]] = {}
        self._names: dict[str, str] = {}
        self._refusals = Series(OVERFLOW)

    def take_up(self, buffers: Iterable[Buffer]) -> Iterator[None]:
        """Looks at new entries of the tables, and yields after each slice of work. Tables are never removed."""
        count = 0
        for buffer in buffers:
            # the reader keeps the buffer, so its id stays unique
            reader = self._readers.setdefault(id(buffer), TableReader(buffer))
            for run in reader.news():
                self._found(run, reader.values)
                count += 1
                if count % _ENTRIES_PER_SLICE == 0:
                    yield

    def of(self, metric: int) -> list[Series]:
        """The series of a metric. The list grows when tables are taken up."""
        return self._series.setdefault(metric, [])

    @property
    def refused(self) -> float:
        """How often a table was full."""
        return self._refusals.value

    def _found(self, run: Run, values: memoryview[float]) -> None:
        key = run.key
        if key == OVERFLOW:
            self._refusals.found(values, run.first, run.first + run.width)
            return
        series = self._known.get(key)
        if series is None:
            # Most keys contain the same few names.
            labels = tuple([self._names.setdefault(name, name) for name in key.labels])
            series = Series(Key(key.metric, labels))
            self._known[series.key] = series
            self.of(key.metric).append(series)
        series.found(values, run.first, run.first + run.width)
