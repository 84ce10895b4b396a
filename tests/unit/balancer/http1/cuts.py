"""Cuts a stream of bytes into pieces, as a network may: what is decided must never depend on where."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import strategies as st

PLACES = st.lists(st.integers(min_value=0, max_value=300), max_size=6)
"""Where a stream is cut; places behind its end cut nothing."""


def pieces(stream: bytes, places: Sequence[int]) -> list[bytes]:
    """`stream` in pieces that end at `places`; joined they are the stream again."""
    bounds = [0, *sorted(place for place in places if place < len(stream)), len(stream)]
    return [stream[start:end] for start, end in pairwise(bounds)]


def single_bytes(stream: bytes) -> list[bytes]:
    """`stream` byte by byte, the finest cut."""
    return [stream[index : index + 1] for index in range(len(stream))]
