"""Computes with columns: one word of each row about many things. Compiled modules do it in C. No I/O.

Columns that meet are equally long, else ValueError is raised.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence

from balancer.sharing import calls

Column = Sequence[float]
"""One word of each row, in the order of the things."""


def added(one: Column, other: Column) -> Column:
    """The sums, word by word."""
    _require_alike(one, other)
    return calls.added(one, other)


def grown(after: Column, before: Column) -> MutableSequence[float]:
    """What has come since `before`, word by word."""
    _require_alike(after, before)
    return calls.grown(after, before)


def multiplied(one: Column, other: Column) -> Column:
    """The products, word by word."""
    _require_alike(one, other)
    return calls.multiplied(one, other)


def divided(column: Column, by: Column) -> Column:
    """The quotients, word by word. Raises ZeroDivisionError."""
    _require_alike(column, by)
    return calls.divided(column, by)


def nearer(start: Column, end: Column, part: float) -> Column:
    """What lies between `start` and `end`, after such a `part` of the way."""
    _require_alike(start, end)
    return calls.nearer(start, end, part)


def scaled(column: Column, factor: float) -> Column:
    """All words times `factor`."""
    return calls.scaled(column, factor)


def total(column: Column) -> float:
    """The sum of all words."""
    return calls.total(column)


def lowest(column: Column) -> float:
    """The lowest word; 0 of none."""
    return calls.lowest(column)


def highest(column: Column) -> float:
    """The highest word; 0 of none."""
    return calls.highest(column)


def is_sound(column: Column) -> bool:
    """Whether all words are numbers, none below 0, and their sum is finite."""
    return calls.is_sound(column)


def is_between(column: Column, least: Column, most: Column) -> bool:
    """Whether each word is at least that of `least`, and at most that of `most`."""
    _require_alike(column, least)
    _require_alike(column, most)
    return calls.is_between(column, least, most)


def _require_alike(one: Column, other: Column) -> None:
    if len(one) != len(other):
        raise ValueError(f"a column of {len(one)} words meets one of {len(other)}")
