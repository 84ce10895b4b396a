"""Messages between replicas: read strictly, with bounds, and with room for what later versions add."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.replicas.messages import (
    FAILURES_MOST,
    LEFT_MOST,
    MESSAGE_BYTES_MOST,
    ROWS_MOST,
    FailureRow,
    LeftRow,
    Message,
    MessageRefusal,
    MessageRefused,
    Picks,
    SpentRow,
    decode,
    encode,
    encoded_within,
)
from ingress.replicas.seen_columns import SeenColumns
from ingress.replicas.seen_columns import packed as packed_columns
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


def test_the_most_that_a_replica_has_to_tell_is_short_enough_to_be_read() -> None:
    """With many backends that fail in many zones it would be longer, and whoever sends that is not believed."""
    tags = tuple(range(1, ROWS_MOST + 1))
    name = "n" * 63
    message = Message(
        number=7,
        counted=True,
        picks=tuple(Picks(f"{name}/{each:063}", 2**40) for each in tags),
        load_table=packed_columns(SeenColumns(tags, ([1.0] * ROWS_MOST,) * 6, ([0.1] * ROWS_MOST,) * 2)),
        zone_table=packed_columns(SeenColumns(tags, ([1.0] * ROWS_MOST,) * 33)),
        failing=tuple(FailureRow(f"{name}/{each:063}:80", "10.0.0.1:80", 5, False) for each in range(FAILURES_MOST)),
        left=tuple(LeftRow(f"{name}/{each:063}:80", "zone-b") for each in range(LEFT_MOST)),
    )
    assert len(encode(message)) > 2 * MESSAGE_BYTES_MOST
    told = decode(encoded_within(message))
    assert (told.failing, told.left) == (message.failing, message.left)
    assert told.load_table == message.load_table
    assert (told.zone_table, told.picks, told.counted) == (None, (), False)
    assert decode(encoded_within(Message(number=1, picks=message.picks, counted=True))).counted


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
