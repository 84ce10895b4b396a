"""Quantities are exact to a thousandth, and rounded up below it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.objects.quantities import milli


@pytest.mark.parametrize(
    ("quantity", "amount"),
    [
        ("4", 4000),
        ("3920m", 3920),
        ("1.5", 1500),
        (".5", 500),
        ("5.", 5000),
        ("+2", 2000),
        ("-1", -1000),
        ("0", 0),
        ("2k", 2_000_000),
        ("1Ki", 1_024_000),
        ("100u", 1),
        ("1n", 1),
        ("1000001n", 2),
        ("0.0015", 2),
        ("1e3", 1_000_000),
        ("1E3", 1_000_000),
        ("12e-1", 1200),
        (4, 4000),
        (1.5, 1500),
    ],
)
def test_a_quantity_in_thousandths(quantity: str | int | float, amount: int) -> None:
    assert milli(quantity) == amount


@pytest.mark.parametrize(
    "quantity",
    ["", " 4", "4 ", "4\n", "four", "1.5.", "1K", "4cores", "m", "1e", "0x4", "\u0664", "1" * 65, "9E", "1e99",
     1e30, math.inf, math.nan],
)  # fmt: skip
def test_what_is_no_quantity_or_too_large_is_none(quantity: str | int | float) -> None:
    assert milli(quantity) is None


def test_a_number_that_python_would_not_write_out_is_none() -> None:
    assert milli(10**5000) is None
    assert milli(-(10**5000)) is None


@given(st.integers(0, 10**9))
def test_whole_and_split_units_say_the_same(amount: int) -> None:
    assert milli(f"{amount}m") == amount
    assert milli(f"{amount // 1000}.{amount % 1000:03d}") == amount


@given(st.text() | st.integers() | st.floats())
def test_nothing_raises(quantity: str | int | float) -> None:
    amount = milli(quantity)
    assert amount is None or abs(amount) < 2**63
