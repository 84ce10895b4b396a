"""Columns are computed word by word."""

from __future__ import annotations

import math

from balancer.sharing import calls

A, B = [1.0, 4.0, 9.0], [2.0, 2.0, 3.0]


def test_columns_meet_word_by_word() -> None:
    assert list(calls.added(A, B)) == [3.0, 6.0, 12.0]
    assert list(calls.grown(A, B)) == [-1.0, 2.0, 6.0]
    assert list(calls.multiplied(A, B)) == [2.0, 8.0, 27.0]
    assert list(calls.divided(A, B)) == [0.5, 2.0, 3.0]
    assert list(calls.nearer(A, B, 0.5)) == [1.5, 3.0, 6.0]
    assert list(calls.scaled(A, 2.0)) == [2.0, 8.0, 18.0]


def test_a_column_has_a_sum_and_ends() -> None:
    assert (calls.total(A), calls.lowest(A), calls.highest(A)) == (14.0, 1.0, 9.0)
    assert (calls.total([]), calls.lowest([]), calls.highest([])) == (0.0, 0.0, 0.0)
    assert not math.isnan(calls.total(A))
