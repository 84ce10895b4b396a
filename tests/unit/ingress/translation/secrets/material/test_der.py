"""DER is read one level at a time, and nothing but DER is taken."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.translation.secrets.material.der import INTEGER, SEQUENCE, MalformedDer, Value, integer, members, only
from tests.unit.ingress.translation.secrets.material.hostile import cheap, number, sequence, tlv


@given(st.lists(st.integers(0, 2**4096), max_size=9))
def test_numbers_that_were_written_are_read(numbers: list[int]) -> None:
    values = members(only(sequence(*map(number, numbers)), SEQUENCE))
    assert [integer(each, 4097) for each in values] == numbers


@pytest.mark.parametrize(
    "data",
    [b"", b"\x30", b"\x30\x80\0\0", b"\x30\x85\0\0\0\0\1\0", b"\x30\x82\x01", b"\x30\x02\x02", b"\x1f\x01\x00"],
)
def test_what_is_no_value_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedDer):
        only(data, SEQUENCE)


def test_a_value_of_another_kind_or_with_something_behind_it_is_refused() -> None:
    for data in (number(1), sequence() + b"\0"):
        with pytest.raises(MalformedDer):
            only(data, SEQUENCE)


def test_a_sequence_of_many_values_is_not_read_to_its_end() -> None:
    with cheap(), pytest.raises(MalformedDer):
        members(number(1) * 300_000)


@pytest.mark.parametrize("content", [b"", b"\xff", b"\x80\x00"])
def test_what_is_no_number_is_refused(content: bytes) -> None:
    with pytest.raises(MalformedDer):
        integer(Value(INTEGER, content), 64)


def test_a_number_that_is_too_large_is_refused() -> None:
    assert integer(Value(INTEGER, b"\0" + b"\xff" * 8), 64) == 2**64 - 1
    with pytest.raises(MalformedDer):
        integer(Value(INTEGER, b"\1" + b"\0" * 9), 64)
    with pytest.raises(MalformedDer):
        integer(Value(0x04, b"\1"), 64)


@given(st.binary(max_size=50))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    for read in (lambda: only(data, data[0] if data else 0), lambda: members(data)):
        with contextlib.suppress(MalformedDer):
            read()


def test_a_long_form_is_read() -> None:
    assert only(tlv(0x04, b"x" * 70_000), 0x04) == b"x" * 70_000
