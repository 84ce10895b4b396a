"""A server's bytes are taken in portions: one that is short is the last, so whoever writes them may stop there."""

from __future__ import annotations

from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.http.messages import Fields
from balancer.http2.engine import Engine
from balancer.http2.events import CANCEL, NO_ERROR, EngineLimits
from balancer.http2.flushing import BYTES_A_WRITE
from tests.unit.balancer.http2.pairs import GET, LIBRARIES, OK, Pair

pytestmark = pytest.mark.large

_WIDE = EngineLimits(connection_window=1 << 24, stream_window=1 << 22)
_NARROW = EngineLimits()  # bodies stay for want of window


class End(Enum):
    """How an answer goes on behind its pieces."""

    WHOLE, TRAILERS, RESET, OPEN = range(4)


_PIECES = st.lists(st.sampled_from((0, 1, 100, 5_000, 16_384, 16_385, BYTES_A_WRITE - 9, 40_000, 200_000)), max_size=4)
_ANSWERS = st.lists(st.tuples(st.integers(0, 20_000), _PIECES, st.sampled_from(End)), min_size=1, max_size=20)


@pytest.mark.parametrize("library", LIBRARIES)
@given(answers=_ANSWERS, is_wide=st.booleans(), pings=st.booleans(), leaves=st.booleans())
def test_behind_a_short_portion_there_is_nothing(
    library: str, answers: list[tuple[int, list[int], End]], is_wide: bool, pings: bool, leaves: bool
) -> None:
    pair = Pair(_WIDE if is_wide else _NARROW, server=library)
    streams = [pair.client.request(GET, True) for _ in answers]
    pair.pump()
    server = pair.server
    for stream, (head_bytes, pieces, end) in zip(streams, answers, strict=True):
        _answer(server, stream, (*OK, (b"x-long", b"a" * head_bytes)), pieces, end)
    if pings:
        server.ping(b"12345678")
    if leaves:
        server.goaway(NO_ERROR)
    while len(server.take_bytes(BYTES_A_WRITE)) >= BYTES_A_WRITE:
        server.take_events()
    server.take_events()
    assert server.take_bytes(BYTES_A_WRITE) == b""


def _answer(server: Engine, stream: int, head: Fields, pieces: list[int], end: End) -> None:
    server.respond(stream, head, False)
    for size in pieces:
        server.data(stream, bytes(size), False)
    match end:
        case End.WHOLE:
            server.data(stream, b"", True)
        case End.TRAILERS:
            server.trailers(stream, ((b"x-sum", b"1"),))
        case End.RESET:
            server.reset(stream, CANCEL)
