"""Frames, one at a time, however the bytes are cut."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from balancer.http2.frames import CONTINUATION, DATA, HEADERS, PING, PREFACE
from balancer.http2.splitting import FRAME_BYTES, Splitter
from tests.unit.balancer.http2.wire import frame

FRAMES = [
    frame(HEADERS, 0, b"abc", 1),
    frame(CONTINUATION, 4, b"d", 1),
    frame(DATA, 1, bytes(50), 1),
    frame(PING, 0, b""),
]
WHOLE = PREFACE + b"".join(FRAMES)


@given(st.lists(st.integers(0, len(WHOLE))))
def test_frames_come_whole_in_every_cut(cuts: list[int]) -> None:
    splitter = Splitter(has_preface=True)
    preface, frames, amid = b"", [], []
    for begin, end in pairwise([0, *sorted(cuts), len(WHOLE)]):
        for piece in splitter.split(WHOLE[begin:end]):
            if splitter.kind < 0:
                preface += piece
            else:
                frames.append(piece)
                amid.append(splitter.is_amid_block)
    assert (preface, frames, amid) == (PREFACE, FRAMES, [False, True, False, False])


def test_a_frame_that_is_too_long_is_not_waited_for() -> None:
    splitter = Splitter(has_preface=False)
    assert list(splitter.split(FRAMES[3] + (FRAME_BYTES + 1).to_bytes(3) + bytes(6))) == [FRAMES[3]]
    assert splitter.is_too_long
