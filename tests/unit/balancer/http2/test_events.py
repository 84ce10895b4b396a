"""Pieces of a body that came together are one piece."""

from __future__ import annotations

from balancer.http2.events import CLOSED, DATA, Event, joined


def piece(stream: int, data: bytes, *, ends: bool = False) -> Event:
    return DATA, stream, data, ends


def test_pieces_of_one_stream_are_joined_up_to_the_next_event() -> None:
    events = [piece(1, b"a"), piece(1, b"b"), piece(1, b"c", ends=True), (CLOSED, 1, 0), piece(1, b"d")]
    assert joined(events, 1) == (b"abc", True, 3)


def test_a_piece_alone_stays_as_it_is() -> None:
    assert joined([piece(1, b"a", ends=True)], 1) == (b"a", True, 1)
    assert joined([piece(1, b"a"), piece(3, b"b")], 1) == (b"a", False, 1)
