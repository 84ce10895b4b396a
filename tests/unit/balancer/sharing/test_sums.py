"""Columns of numbers: what is computed, and that columns which meet are equally long."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from operator import add, mul, sub, truediv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.sharing import sums
from balancer.sharing.sums import Column

words = st.floats(allow_nan=False, allow_infinity=False, width=32)
pairs = st.lists(st.tuples(words, words), max_size=20)
PAIRWISE: list[tuple[Callable[[Column, Column], Column], Callable[[float, float], float]]] = [
    (sums.added, add),
    (sums.grown, sub),
    (sums.multiplied, mul),
]


@given(pairs)
def test_columns_are_computed_word_by_word(rows: list[tuple[float, float]]) -> None:
    one, other = [row[0] for row in rows], [row[1] for row in rows]
    for function, operator in PAIRWISE:
        assert [*function(one, tuple(other))] == [*map(operator, one, other)]
    assert [*sums.nearer(one, other, 0.25)] == [a + (b - a) * 0.25 for a, b in rows]
    assert [*sums.scaled(one, 3.0)] == [word * 3.0 for word in one]
    divisors = [abs(word) + 1.0 for word in other]
    assert [*sums.divided(one, divisors)] == [*map(truediv, one, divisors)]


@given(st.lists(words, max_size=20))
def test_a_column_is_measured(column: list[float]) -> None:
    assert sums.total(column) == pytest.approx(math.fsum(column), abs=1e30)
    assert (sums.lowest(column), sums.highest(column)) == (min(column, default=0.0), max(column, default=0.0))
    assert sums.is_sound(column) is (min(column, default=0.0) >= 0.0)
    assert sums.is_between(column, [word - 1.0 for word in column], column) is True


@pytest.mark.parametrize("column", [[1.0, math.nan], [math.inf], [-1.0], [1.7e308, 1.7e308], [0.0, -math.inf]])
def test_what_is_no_number_or_below_nothing_is_not_sound(column: list[float]) -> None:
    assert not sums.is_sound(column)
    assert not sums.is_sound(array("d", column))


@pytest.mark.parametrize(("least", "most"), [([2.0], [3.0]), ([0.0], [0.5]), ([math.nan], [3.0])])
def test_a_word_outside_is_not_between(least: Column, most: Column) -> None:
    assert not sums.is_between([1.0], least, most)


def test_what_was_computed_from_is_unchanged() -> None:
    one, other = array("d", [1.0, 2.0]), array("d", [4.0, 8.0])
    sums.added(one, other)
    sums.grown(one, other)
    sums.nearer(one, other, 0.5)
    sums.scaled(one, 2.0)
    assert ([*one], [*other]) == ([1.0, 2.0], [4.0, 8.0])


@pytest.mark.parametrize(
    "function",
    [sums.added, sums.grown, sums.multiplied, sums.divided, lambda one, other: sums.nearer(one, other, 0.5)],
)
def test_columns_of_different_lengths_do_not_meet(function: Callable[[Column, Column], Column]) -> None:
    with pytest.raises(ValueError, match="a column of 1 words meets one of 2"):
        function([1.0], [1.0, 2.0])


def test_nothing_is_divided_by_zero() -> None:
    with pytest.raises(ZeroDivisionError):
        sums.divided([1.0], [0.0])
