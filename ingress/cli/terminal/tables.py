"""A table as plain values, and as lines of text.

Names in it come from people who may write to the cluster, so every cell is one line of printable text. Does not know
what is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from ingress.findings import printable

# Longer than any name of Kubernetes with its namespace. A path may have more.
_CELL_LIMIT: Final = 600
_GAP: Final = "  "


class Column(msgspec.Struct, frozen=True):
    """The head of a column. Numbers stand at its right. On a narrow terminal the columns with the highest `spare` go
    first; those with 0 stay.
    """

    name: str
    is_number: bool = False
    spare: int = 0


class Row(msgspec.Struct, frozen=True):
    """One cell for each column, and lines that stand below them."""

    cells: tuple[str, ...]
    notes: tuple[str, ...] = ()


class Grid(msgspec.Struct, frozen=True):
    """Columns and rows. Make it with `table`."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


def table(columns: Sequence[Column], rows: Sequence[Row]) -> Grid:
    """A table in which every text is printable and on one line."""
    return Grid(tuple(columns), tuple(Row(_clean(row.cells), _clean(row.notes)) for row in rows))


def fitted(shown: Grid, width: int) -> Grid:
    """`shown` with as many columns as fit into `width` characters."""
    columns = list(range(len(shown.columns)))
    widths = _widths(shown)
    while sum(widths[each] for each in columns) + len(_GAP) * (len(columns) - 1) > width:
        least = max(columns, key=lambda each: shown.columns[each].spare)
        if not shown.columns[least].spare:
            break
        columns.remove(least)
    rows = tuple(Row(tuple(row.cells[each] for each in columns), row.notes) for row in shown.rows)
    return Grid(tuple(shown.columns[each] for each in columns), rows)


def lines(shown: Grid) -> Iterator[str]:
    """The table as text: heads in capitals, columns as wide as their widest cell."""
    widths = _widths(shown)
    yield _line(shown.columns, _heads(shown), widths)
    for row in shown.rows:
        yield _line(shown.columns, row.cells, widths)
        yield from (f"    {note}" for note in row.notes)


def _heads(shown: Grid) -> tuple[str, ...]:
    return tuple(column.name.upper() for column in shown.columns)


def _widths(shown: Grid) -> list[int]:
    return [max(map(len, cells)) for cells in zip(_heads(shown), *(row.cells for row in shown.rows), strict=True)]


def _line(columns: Sequence[Column], cells: Sequence[str], widths: Sequence[int]) -> str:
    placed = (
        cell.rjust(width) if column.is_number else cell.ljust(width)
        for column, cell, width in zip(columns, cells, widths, strict=True)
    )
    return _GAP.join(placed).rstrip()


def _clean(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(printable(text, limit=_CELL_LIMIT) for text in texts)
