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
    """The head of a column. Numbers stand at its right."""

    name: str
    is_number: bool = False


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


def lines(shown: Grid) -> Iterator[str]:
    """The table as text: heads in capitals, columns as wide as their widest cell."""
    heads = tuple(column.name.upper() for column in shown.columns)
    widths = [max(map(len, cells)) for cells in zip(heads, *(row.cells for row in shown.rows), strict=True)]
    yield _line(shown.columns, heads, widths)
    for row in shown.rows:
        yield _line(shown.columns, row.cells, widths)
        yield from (f"    {note}" for note in row.notes)


def _line(columns: Sequence[Column], cells: Sequence[str], widths: Sequence[int]) -> str:
    placed = (
        cell.rjust(width) if column.is_number else cell.ljust(width)
        for column, cell, width in zip(columns, cells, widths, strict=True)
    )
    return _GAP.join(placed).rstrip()


def _clean(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(printable(text, limit=_CELL_LIMIT) for text in texts)
