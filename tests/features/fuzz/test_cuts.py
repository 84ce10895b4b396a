"""Whatever a client sends, and however it is cut into reads: the answers and what reaches the endpoint are the same."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.features.fuzz.mutating import Mutator, seeds
from tests.features.fuzz.streams import Piece, Stage
from tests.properties import examples

_STREAM_BYTES = 100_000  # more than is held of a client that pipelines
_TURNS_MAX = 6  # from one read to the next; a request is through in about as many

_VALID = (
    b"GET /a HTTP/1.1\r\nHost: app.test\r\n\r\n",
    b"HEAD /a HTTP/1.1\r\nHost: app.test\r\n\r\n",
    b"GET /nowhere HTTP/1.1\r\nHost: unknown.test\r\n\r\n",
    b"POST /p HTTP/1.1\r\nHost: app.test\r\nContent-Length: 12\r\n\r\nhello\r\n\r\nyou",
    b"POST /p HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
    b"PUT /p HTTP/1.1\r\nHost: app.test\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
    b"OPTIONS * HTTP/1.1\r\nHost: app.test\r\n\r\n",
    b"\r\n\r\nGET http://victim.test/x HTTP/1.1\r\nHost: victim.test\r\n\r\n",
    b"GET /ws HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    b"GET /last HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n",
)
_CHUNKED = b"POST /p HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n"
_PIPELINE = b"".join(_VALID[:8])

mutated = st.integers(0, 2**32 - 1).map(lambda seed: Mutator(Random(seed), "request").next())
around_limits = st.one_of(st.integers(8150, 8220), st.integers(32_600, 32_800)).flatmap(
    lambda size: st.sampled_from(
        (
            _CHUNKED + b"1\r\na\r\n" * size + b"0\r\n\r\n",
            b"GET /%b HTTP/1.1\r\nHost: app.test\r\n\r\n" % (b"a" * size),
            b"GET / HTTP/1.1\r\nHost: app.test\r\nX-A: %b\r\n\r\n" % (b"a" * size),
            b"GET / HTTP/1.1\r\nHost: app.test\r\n%b\r\n" % (b"X-A: %b\r\n" % (b"a" * 800) * (size // 808)),
        )
    )
)
valid = st.sampled_from(_VALID)
many = st.integers(1, 20).map(lambda times: _PIPELINE * times)
messages = st.one_of(valid, valid, valid, mutated, mutated, st.binary(max_size=40), around_limits, many)
streams = st.lists(messages, min_size=1, max_size=8).map(lambda parts: b"".join(parts)[:_STREAM_BYTES])
cuts = st.lists(st.tuples(st.floats(0, 1), st.integers(0, _TURNS_MAX)), max_size=12)


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    stage = Stage()
    yield stage
    stage.close()


def in_pieces(stream: bytes, cuts: list[tuple[float, int]]) -> list[Piece]:
    """`stream` cut at these fractions of it, with so many turns of the loop after each piece."""
    places = sorted((round(place * len(stream)), turns) for place, turns in cuts)
    starts = [0, *(place for place, _ in places)]
    return [
        Piece(stream[start:end], turns) for start, (end, turns) in zip(starts, [*places, (len(stream), 0)], strict=True)
    ]


def by_byte(stream: bytes, *, turns: int) -> list[Piece]:
    return [Piece(stream[place : place + 1], turns) for place in range(len(stream))]


def test_every_request_of_a_whole_pipeline_reaches_the_endpoint_in_order(stage: Stage) -> None:
    outcome = stage.play([Piece(_PIPELINE + _VALID[-1])])
    lines = [request.head.partition(b" HTTP/")[0] for request in outcome.requests]
    assert lines == [b"GET /a", b"HEAD /a", b"POST /p", b"POST /p", b"PUT /p", b"OPTIONS *", b"GET /x", b"GET /last"]
    assert [request.body for request in outcome.requests[2:5]] == [b"hello\r\n\r\nyou", b"hello", b"hi"]
    assert outcome.answer.count(b"HTTP/1.1 200 ") == 8
    assert outcome.answer.count(b"HTTP/1.1 404 ") == 1
    assert outcome.closed


def test_a_tunnel_carries_what_follows_its_head(stage: Stage) -> None:
    outcome = stage.play([Piece(_VALID[8] + b"frames of"), Piece(b" a kind", 3)])
    assert outcome.answer.endswith(b"\r\n\r\nframes of a kind")
    assert not outcome.closed


@examples(200)
@given(streams, cuts)
@example(_PIPELINE, [(place / 50, 2) for place in range(50)])
def test_a_stream_cut_anywhere_has_the_outcome_of_the_uncut_one(
    stage: Stage, stream: bytes, cuts: list[tuple[float, int]]
) -> None:
    assert stage.play(in_pieces(stream, cuts)) == stage.play([Piece(stream)])


@examples(40)
@given(streams, st.integers(0, 2))
def test_a_stream_that_comes_byte_by_byte_has_the_outcome_of_the_uncut_one(
    stage: Stage, stream: bytes, turns: int
) -> None:
    stream = stream[:1000]
    assert stage.play(by_byte(stream, turns=turns)) == stage.play([Piece(stream)])


def test_every_hostile_message_has_one_outcome(stage: Stage) -> None:
    for seed in seeds("request"):
        stream = _VALID[0] + seed + _VALID[0]
        assert stage.play(by_byte(stream, turns=0)) == stage.play([Piece(stream)]), seed
