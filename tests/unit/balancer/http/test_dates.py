"""Dates of HTTP are those that the standard library writes."""

from __future__ import annotations

from email.utils import formatdate

from hypothesis import given
from hypothesis import strategies as st

from balancer.http.dates import http_date


def test_the_example_of_the_rfc() -> None:
    assert http_date(784_111_777) == b"Sun, 06 Nov 1994 08:49:37 GMT"


@given(st.integers(min_value=0, max_value=253_402_300_799))
def test_it_is_the_date_of_the_standard_library(seconds: int) -> None:
    assert http_date(seconds).decode() == formatdate(seconds, usegmt=True)


def test_a_fraction_of_a_second_is_left_out() -> None:
    assert http_date(784_111_777.999_999_9) == b"Sun, 06 Nov 1994 08:49:37 GMT"
