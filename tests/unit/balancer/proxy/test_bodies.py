"""A body that is kept for another endpoint is whole to the byte, or it is not kept at all."""

from __future__ import annotations

import sys

from hypothesis import given
from hypothesis import strategies as st

from balancer.proxy.bodies import KEPT_BODY_BYTES, UNCOUNTED_BYTES, KeptBody
from balancer.proxy.body_room import BodyRoom


@given(st.lists(st.integers(0, KEPT_BODY_BYTES // 2), max_size=6))
def test_a_body_is_kept_to_the_byte_up_to_the_bound_and_forgotten_beyond(sizes: list[int]) -> None:
    kept, sent = KeptBody(), b""
    for number, size in enumerate(sizes):
        piece = bytes((number,)) * size
        kept.add(piece)
        sent += piece
    fits = len(sent) <= KEPT_BODY_BYTES
    assert (kept.is_whole, b"".join(kept.pieces())) == (fits, sent if fits else b"")


def test_a_body_that_grew_too_long_is_never_whole_again() -> None:
    kept = KeptBody()
    kept.add(bytes(KEPT_BODY_BYTES + 1))
    kept.add(b"x")
    kept.end(())
    assert (kept.is_whole, b"".join(kept.pieces())) == (False, b"")


def test_a_tenant_at_its_bound_keeps_no_further_body_and_its_neighbour_does() -> None:
    room = BodyRoom(memory_bytes=30_000)
    first, second, third, short = (KeptBody(room, tenant) for tenant in ("shop", "shop", "tea", "shop"))
    first.add(bytes(15_000))
    second.add(bytes(5000))
    third.add(bytes(5000))
    short.add(bytes(UNCOUNTED_BYTES))
    assert [each.is_whole for each in (first, second, third, short)] == [True, False, True, True]
    assert room.memory.held("shop") == 15_000
    first.drop()
    assert room.memory.held("shop") == 0
    del third
    assert room.memory.free == 30_000


def test_the_end_is_known_once_it_came() -> None:
    kept = KeptBody()
    kept.add(b"x")
    assert kept.trailers is None
    kept.end(((b"A", b"1"),))
    assert kept.trailers == ((b"A", b"1"),)


def test_what_was_dropped_is_neither_held_nor_whole() -> None:
    kept = KeptBody()
    kept.add(b"x")
    kept.drop()
    assert (kept.is_whole, b"".join(kept.pieces())) == (False, b"")


def test_a_body_that_comes_byte_by_byte_costs_no_more_than_its_bytes() -> None:
    kept = KeptBody()
    for _ in range(KEPT_BODY_BYTES):
        kept.add(b"x")
    assert kept.is_whole
    assert sys.getsizeof(kept._data) < 1.2 * KEPT_BODY_BYTES
