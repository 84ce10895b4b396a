"""What a worker and the process of its isolated hooks say to each other."""

from __future__ import annotations

import msgspec
import pytest

from zonal_hooks.messages import Choice, Edits
from zonal_hooks.talking import (
    FROM_HOST,
    MESSAGE_BYTES_MOST,
    TO_HOST,
    Answer,
    Begin,
    Begun,
    Call,
    Frames,
    Garbled,
    framed,
)
from zonal_hooks.verdicts import Denied, Failed, Passed, Replied

CALL = Call(7, "tenant", "request", "{}", ((b"x-a", b"\xff"),), b"GET", b"a.test", b"/", b"/")


def test_messages_arrive_however_they_are_cut() -> None:
    data = framed(Begin(())) + framed(CALL)
    for size in (1, 3, len(data)):
        frames, bodies = Frames(), []
        for at in range(0, len(data), size):
            bodies += frames.feed(data[at : at + size])
        assert [TO_HOST.decode(body) for body in bodies] == [Begin(()), CALL]


@pytest.mark.parametrize(
    "message",
    [
        Begun((("tenant", "why"),), ("x",)),
        Answer(7, Passed(Edits(frozenset({b"a"}), ((b"b", b"\0"),)), Choice("off", True, "k"))),
        Answer(7, Denied(403)),
        Answer(7, Replied(200, ((b"a", b"b"),), b"body")),
        Answer(7, Failed("raised", "why")),
    ],
)
def test_answers_arrive_as_they_were(message: Begun | Answer) -> None:
    (body,) = Frames().feed(framed(message))
    assert FROM_HOST.decode(body) == message


def test_what_is_too_long_is_no_message() -> None:
    with pytest.raises(Garbled):
        framed(Answer(1, Replied(200, (), b"x" * MESSAGE_BYTES_MOST)))
    with pytest.raises(Garbled):
        Frames().feed(b"\xff\xff\xff\xff")


@pytest.mark.parametrize("body", [b"", b"\xc1", b"\x93\x01\x02\x03"])
def test_garbage_is_told_apart(body: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        FROM_HOST.decode(body)
