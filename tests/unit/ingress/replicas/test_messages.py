"""Messages between replicas: read strictly, with bounds, and with room for what later versions add."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.replicas.messages import (
    MESSAGE_BYTES_MOST,
    ROWS_MOST,
    Message,
    MessageRefusal,
    MessageRefused,
    Picks,
    SpentRow,
    decode,
    encode,
)
from tests.properties import examples


def refusal(data: bytes) -> MessageRefusal:
    with pytest.raises(MessageRefused) as refused:
        decode(data)
    return refused.value.refusal


def packed(**changes: object) -> bytes:
    return msgspec.msgpack.encode({"number": 1, **changes})


def test_a_message_comes_as_it_was_sent() -> None:
    row = SpentRow(2**64 - 1, 5, 9, 3)
    picks = (Picks("shop/cart", 12),)
    message = Message(number=7, name="zonal-0", zone="zone-a", seconds=0.5, picks=picks, spent=(row,))
    assert decode(encode(message)) == message


def test_what_a_later_version_adds_is_ignored() -> None:
    assert decode(packed(schema=9, moods=["good"], picks=[["shop/cart", 3, "more"]])).picks == (Picks("shop/cart", 3),)


@pytest.mark.parametrize(
    "changes",
    [
        {"number": 0},
        {"number": -1},
        {"number": 1.5},
        {"number": 2**60},
        {"seconds": math.nan},
        {"seconds": math.inf},
        {"seconds": 0.0},
        {"seconds": 3600.0},
        {"zone": "z" * 64},
        {"name": "n" * 254},
        {"zone": 5},
        {"picks": [["shop/cart", math.nan]]},
        {"picks": [["shop/cart", -1]]},
        {"picks": [["shop/cart", 2**60]]},
        {"picks": [["", 1]]},
        {"picks": [["s" * 513, 1]]},
        {"picks": [["shop/cart"]]},
        {"picks": [["shop/cart", 1]] * (ROWS_MOST + 1)},
        {"spent": [[0, 1, 1, 1]]},
        {"spent": [[1, 1, -1, 0]]},
        {"spent": [[1, 1, 1.5, 1]]},
        {"spent": [[1, 1, math.nan, 1]]},
        {"spent": [[1, 1, 1, 1]] * (ROWS_MOST + 1)},
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, object]) -> None:
    assert refusal(packed(**changes)) is MessageRefusal.MALFORMED


def test_a_message_that_is_too_long_is_not_even_read() -> None:
    assert refusal(bytes(MESSAGE_BYTES_MOST + 1)) is MessageRefusal.TOO_LONG


@given(st.binary(max_size=300))
@examples(200)
def test_noise_is_a_message_or_refused(data: bytes) -> None:
    try:
        message = decode(data)
    except MessageRefused:
        return
    assert 1 <= message.number <= 2**53


def test_a_billion_rows_are_refused_before_they_are_read() -> None:
    begins = msgspec.msgpack.encode({"number": 1, "picks": []})
    assert refusal(begins[:-1] + b"\xdd\x3b\x9a\xca\x00") is MessageRefusal.MALFORMED
