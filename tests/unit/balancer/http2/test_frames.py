"""The borders of frames, however the bytes are cut."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from balancer.http2.frames import CONTINUATION, DATA, HEADERS, PING, PREFACE, Frames, goaway_frame, read_goaway


def frame(kind: int, flags: int, payload: bytes, stream: int = 1) -> bytes:
    return len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload


BLOCK = frame(HEADERS, 0, b"abc") + frame(CONTINUATION, 0, b"d") + frame(CONTINUATION, 4, b"efg")
STREAM = (
    PREFACE + BLOCK + frame(DATA, 1, bytes(50)) + frame(PING, 0, bytes(8), 0) + frame(99, 0, b"") + frame(98, 0, b"x")
)


@given(st.lists(st.integers(0, len(STREAM))))
def test_the_same_frames_are_counted_in_every_cut(cuts: list[int]) -> None:
    frames = Frames(PREFACE)
    borders = [0, *sorted(cuts), len(STREAM)]
    for begin, end in pairwise(borders):
        frames.walk(STREAM[begin:end])
    assert [frames.counts[kind] for kind in (DATA, HEADERS, PING, CONTINUATION, 10)] == [1, 1, 1, 2, 2]
    assert frames.rare == 5
    assert frames.amid_head == 0


@given(st.lists(st.integers(0, len(STREAM))))
def test_each_head_that_is_not_whole_has_one_number(cuts: list[int]) -> None:
    """In every cut: what asks between two pieces sees each head under the place of its first frame, and no other."""
    frames = Frames(PREFACE)
    borders = [0, *sorted(cuts), len(STREAM)]
    begins = [0, len(PREFACE), len(PREFACE + BLOCK)]
    begins += [begins[-1] + 59, begins[-1] + 59 + 17, begins[-1] + 59 + 17 + 9]
    head_ends = [len(PREFACE), len(PREFACE + BLOCK), *(begin + 9 for begin in begins[2:])]
    places = [1, 2, 5, 6, 7, 8]
    for begin, end in pairwise(borders):
        frames.walk(STREAM[begin:end])
        amid = [
            place
            for first, last, place in zip(begins, head_ends, places, strict=True)
            if first < end < last or (end == first == 0)
        ]
        assert [frames.amid_head] == (amid or [0])


def test_an_open_header_block_is_measured() -> None:
    frames = Frames(b"")
    frames.walk(BLOCK[:9])
    assert frames.amid_head > 0
    frames.walk(BLOCK[9:22])
    assert (frames.continuations, frames.block_bytes) == (1, 4)
    frames.walk(BLOCK[22:-1])
    assert frames.amid_head > 0
    frames.walk(BLOCK[-1:])
    assert frames.amid_head == 0


def test_the_preface_and_a_frame_header_are_awaited_but_not_data() -> None:
    frames = Frames(PREFACE)
    frames.walk(PREFACE[:-1])
    assert frames.amid_head > 0
    frames.walk(PREFACE[-1:])
    assert frames.amid_head == 0
    data = frame(DATA, 0, bytes(5))
    frames.walk(data[:5])
    assert frames.amid_head > 0
    frames.walk(data[5:11])
    assert frames.amid_head == 0


def test_a_goaway_says_the_last_stream_and_a_code() -> None:
    assert read_goaway(goaway_frame(7, 11)) == (7, 11)
