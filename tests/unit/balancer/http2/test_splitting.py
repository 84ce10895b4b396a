"""Frames, one at a time, however the bytes are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.http2.bodies import FRAME_BYTES
from balancer.http2.events import FRAME_SIZE_ERROR, PROTOCOL_ERROR
from balancer.http2.frames import CONTINUATION, DATA, HEADERS, PING, PREFACE
from balancer.http2.splitting import Splitter
from tests.unit.balancer.http2.wire import HELLO, SETTINGS_ACK, SETTINGS_FRAME, frame

FRAMES = [
    SETTINGS_FRAME,
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
    assert (preface, frames, amid) == (PREFACE, FRAMES, [False, False, True, False, False])


@pytest.mark.parametrize(
    ("frames", "kinds", "fault"),
    [
        (HELLO + (FRAME_BYTES + 1).to_bytes(3) + bytes(6), [4, 4], FRAME_SIZE_ERROR),
        (HELLO + FRAMES[4] + FRAMES[2], [4, 4, PING], PROTOCOL_ERROR),
        (PREFACE + FRAMES[4], [], PROTOCOL_ERROR),
        (PREFACE + SETTINGS_ACK, [], PROTOCOL_ERROR),
    ],
)
def test_what_no_connection_outlives_ends_the_frames(frames: bytes, kinds: list[int], fault: int) -> None:
    splitter = Splitter(has_preface=True)
    assert [piece[3] for piece in splitter.split(frames) if splitter.kind >= 0] == kinds
    assert splitter.fault == fault
    assert splitter.why
