"""Whatever the order in which requests are sent, answered, reset and taken back: no stream gets bytes of another."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.http2.events import INTERNAL_ERROR
from tests.fakes.http2_endpoints import OK, Call
from tests.fakes.sockets import until
from tests.properties import examples
from tests.unit.balancer.http2.sharing import Taker, bed, post

pytestmark = pytest.mark.large


class Play(NamedTuple):
    """One request: how large its body and its answer are, in how many pieces, and how it ends."""

    sent: int
    answered: int
    pieces: int
    end: str
    turn: int


PLAYS = st.lists(
    st.builds(
        Play,
        sent=st.integers(16, 40_000),
        answered=st.integers(0, 100_000),
        pieces=st.integers(1, 4),
        end=st.sampled_from(["whole", "whole", "whole", "trailers", "reset", "taken back"]),
        turn=st.integers(0, 1000),
    ),
    min_size=2,
    max_size=24,
)


def text(name: bytes, number: int, size: int) -> bytes:
    """A text of `size` bytes that says whose it is all along."""
    mark = b"%b-%d." % (name, number)
    return (mark * (size // len(mark) + 1))[:size]


def cut(data: bytes, pieces: int) -> list[bytes]:
    size = max(1, -(-len(data) // pieces))
    return [data[at : at + size] for at in range(0, len(data), size)]


class WholeTaker(Taker):
    """Keeps the whole body."""

    def _add(self, data: bytes) -> None:
        self.size += len(data)
        self.body += data


async def answer(call: Call, play: Play, number: int) -> None:
    call.answer(fields=(*OK, (b"x-number", b"%d" % number)), ends=False)
    for piece in cut(text(b"answer", number, play.answered), play.pieces):
        call.say(piece)
        await asyncio.sleep(0)
    if play.end == "reset":
        call.reset(INTERNAL_ERROR)
    elif play.end == "trailers":
        call.connection.engine.trailers(call.stream, ((b"x-sum", b"%d" % number),))
        call.connection.flush()
    else:
        call.say(b"", ends=True)


async def play_all(plays: Sequence[Play]) -> None:
    async with bed() as made:
        takers: list[WholeTaker] = []
        for number, play in enumerate(plays):
            stream = await made.stream()
            taker = WholeTaker(stream)
            takers.append(taker)
            stream.begin(taker, post(None))
            for piece in cut(text(b"request", number, play.sent), play.pieces):
                stream.send(piece)
            stream.finish(())
        await until(lambda: sum(call.is_whole for call in made.endpoint.calls) == len(plays))
        whose = {call.body: call for call in made.endpoint.calls}
        order = sorted(range(len(plays)), key=lambda number: plays[number].turn)
        answering = [
            answer(whose[text(b"request", number, plays[number].sent)], plays[number], number) for number in order
        ]
        for number, play in enumerate(plays):
            if play.end == "taken back":
                takers[number].take_back()
        await asyncio.gather(*answering)
        for number, play in enumerate(plays):
            await takers[number].end()
            check(takers[number], play, number)


def check(taker: WholeTaker, play: Play, number: int) -> None:
    wanted = text(b"answer", number, play.answered)
    if play.end in ("whole", "trailers"):
        assert taker.body == wanted
        assert taker.trailers == (((b"x-sum", b"%d" % number),) if play.end == "trailers" else ())
        assert taker.head is not None
        assert (b"x-number", b"%d" % number) in taker.head.fields
    else:
        assert taker.trailers is None
        assert wanted.startswith(taker.body)


@examples(25)
@given(PLAYS)
def test_no_stream_gets_bytes_of_another(plays: list[Play]) -> None:
    asyncio.run(play_all(plays))
