"""The sums of the counter tables of all workers, series by series.

Responsible for adding up, and for looking at each entry of a table once, however often its values are asked for. It
must not know what a series counts, nor how it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from balancer.metrics.slots import OVERFLOW, Buffer, Key, Run, TableReader

# Measured at 3 microseconds an entry, so a slice takes about 1 ms.
_ENTRIES_PER_SLICE: Final = 300


class Series:
    """One series: its key, and where its values are in each table. `text` is for whoever shows it to remember."""

    __slots__ = ("_places", "key", "text")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.text = ""
        self._places: list[tuple[memoryview[float], int, int]] = []

    def found(self, values: memoryview[float], first: int, end: int) -> None:
        """A table has the series in these slots."""
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
    """Every series of all tables, by its metric's number, in the order in which they were found."""

    __slots__ = ("_known", "_names", "_readers", "_refusals", "_series")

    def __init__(self) -> None:
        self._readers: dict[int, TableReader] = {}
        self._known: dict[Key, Series] = {}
        self._series: dict[int, list[Series]] = {}
        self._names: dict[str, str] = {}
        self._refusals = Series(OVERFLOW)

    def take_up(self, buffers: Iterable[Buffer]) -> Iterator[None]:
        """Look at what is new in the tables; gives way after each slice of work. Tables are never left again."""
        count = 0
        for buffer in buffers:
            reader = self._readers.setdefault(id(buffer), TableReader(buffer))  # which keeps the buffer, and so its id
            for run in reader.news():
                self._found(run, reader.values)
                count += 1
                if count % _ENTRIES_PER_SLICE == 0:
                    yield

    def of(self, metric: int) -> list[Series]:
        """The series of a metric. It grows when tables are taken up."""
        return self._series.setdefault(metric, [])

    @property
    def refused(self) -> float:
        """How often a table had no room."""
        return self._refusals.value

    def _found(self, run: Run, values: memoryview[float]) -> None:
        key = run.key
        if key == OVERFLOW:
            self._refusals.found(values, run.first, run.first + run.width)
            return
        series = self._known.get(key)
        if series is None:
            # The same few names are in most keys.
            labels = tuple([self._names.setdefault(name, name) for name in key.labels])
            series = Series(Key(key.metric, labels))
            self._known[series.key] = series
            self.of(key.metric).append(series)
        series.found(values, run.first, run.first + run.width)
