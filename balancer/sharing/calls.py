"""Computes with columns of numbers, word by word.

This is the plain source. Compiled modules take the functions of `calls.pxd`, which are C, and make arrays where these
make lists. Two columns must be equally long.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from itertools import repeat
from math import isfinite
from operator import add, ge, le, mul, sub, truediv

Column = Sequence[float]
"""One word of each row, in the order of the things."""


def added(one: Column, other: Column) -> Column:
    """The sums."""
    return [*map(add, one, other)]


def grown(after: Column, before: Column) -> MutableSequence[float]:
    """What has come since `before`."""
    return [*map(sub, after, before)]


def multiplied(one: Column, other: Column) -> Column:
    """The products."""
    return [*map(mul, one, other)]


def divided(column: Column, by: Column) -> Column:
    """The quotients. No divisor may be 0."""
    return [*map(truediv, column, by)]


def nearer(start: Column, end: Column, part: float) -> Column:
    """What lies between `start` and `end`, after such a `part` of the way."""
    return [one + (other - one) * part for one, other in zip(start, end, strict=True)]


def scaled(column: Column, factor: float) -> Column:
    """All words times `factor`."""
    return [*map(mul, column, repeat(factor))]


def total(column: Column) -> float:
    """The sum of all words."""
    return sum(column)


def lowest(column: Column) -> float:
    """The lowest word; 0 of none."""
    return min(column, default=0.0)


def highest(column: Column) -> float:
    """The highest word; 0 of none."""
    return max(column, default=0.0)


def is_sound(column: Column) -> bool:
    """Whether all words are numbers, none below 0, and their sum is finite."""
    return isfinite(sum(column)) and lowest(column) >= 0.0


def is_between(column: Column, least: Column, most: Column) -> bool:
    """Whether each word is at least that of `least`, and at most that of `most`."""
    return all(map(ge, column, least)) and all(map(le, column, most))
