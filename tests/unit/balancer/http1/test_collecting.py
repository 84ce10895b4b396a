"""Heads are collected to the byte, and neither heads nor refusals depend on how the stream was cut."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import ErrorKind, Refusal
from balancer.http1.collecting import EMPTY_LINES_MAX, HeadCollector
from tests.unit.balancer.http1.cuts import PLACES, pieces, single_bytes

LINE_LIMIT = 40
HEAD_LIMIT = 90

# Long and short lines, whole and broken line ends: every limit and every offence is within reach of a few of them.
FRAGMENTS = st.lists(
    st.one_of(
        st.sampled_from(
            (b"GET / HTTP/1.1", b"Host: a", b"\r\n", b"\r\n\r\n", b"\r\n\r\n", b"\r", b"\n", b"\x00", b"x", b"y" * 13)
        ),
        st.integers(min_value=25, max_value=95).map(lambda length: b"z" * length),
    ),
    max_size=14,
)
STREAMS = FRAGMENTS.map(b"".join)


def collected(parts: Iterable[bytes]) -> tuple[list[bytes], ErrorKind | None]:
    """The heads that come out, and the refusal that ends it."""
    collector = HeadCollector(line_limit=LINE_LIMIT, head_limit=HEAD_LIMIT)
    heads: list[bytes] = []
    try:
        for part in parts:
            collector.add(part)
            while (head := collector.take_head()) is not None:
                heads.append(head)
                assert collector.take_lines() == head.split(b"\r\n")[:-1]
    except Refusal as refusal:
        return heads, refusal.kind
    return heads, None


@given(STREAMS, PLACES)
def test_a_stream_cut_anywhere_gives_the_same_heads_and_the_same_refusal(stream: bytes, places: list[int]) -> None:
    whole = collected([stream])
    assert collected(pieces(stream, places)) == whole
    assert collected(single_bytes(stream)) == whole


@given(STREAMS)
def test_every_head_is_a_part_of_the_stream_that_holds_whole_lines_only(stream: bytes) -> None:
    heads, _ = collected([stream])
    for head in heads:
        assert head in stream
        assert head.endswith(b"\r\n\r\n")
        assert not head.startswith(b"\r\n")
        assert b"\x00" not in head
        assert head.count(b"\r") == head.count(b"\n") == head.count(b"\r\n")
        assert len(head) <= HEAD_LIMIT + 4
        assert head.index(b"\r\n") <= LINE_LIMIT


@pytest.mark.parametrize("length", range(LINE_LIMIT - 2, LINE_LIMIT + 3))
def test_the_first_line_may_be_as_long_as_its_limit_however_it_is_cut(length: int) -> None:
    stream = b"a" * length + b"\r\nHost: a\r\n\r\n"
    expected = ([stream], None) if length <= LINE_LIMIT else ([], ErrorKind.TARGET_TOO_LONG)
    for place in range(len(stream)):
        assert collected(pieces(stream, [place])) == expected


@pytest.mark.parametrize("length", range(HEAD_LIMIT - 4, HEAD_LIMIT + 6))
def test_a_head_may_be_as_long_as_its_limit_and_its_end_however_it_is_cut(length: int) -> None:
    stream = b"GET /\r\n" + b"h" * (length - 7) + b"\r\n\r\n"
    expected = ([stream], None) if length <= HEAD_LIMIT else ([], ErrorKind.HEAD_TOO_LARGE)
    for place in range(len(stream)):
        assert collected(pieces(stream, [place])) == expected


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(b"GET / HTTP/1.1\nHost: a\r\n\r\n", id="bare LF"),
        pytest.param(b"GET / HTTP/1.1\rHost: a\r\n\r\n", id="bare CR"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", id="CR before CRLF"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\n\rZ", id="CR in the place of the end"),
        pytest.param(b"GET /\x00 HTTP/1.1\r\n", id="NUL in a head that has not ended"),
        pytest.param(b"\n", id="LF alone"),
        pytest.param(b"GET /\r\n" + b"h" * (HEAD_LIMIT - 8) + b"\r\r\n\r\n", id="CR at the very end of the limit"),
    ],
)
def test_a_bare_cr_or_lf_or_a_nul_is_refused_as_soon_as_it_is_seen(stream: bytes) -> None:
    assert collected([stream]) == ([], ErrorKind.BAD_REQUEST)
    assert collected(single_bytes(stream)) == ([], ErrorKind.BAD_REQUEST)


REQUEST_LINE = re.compile(rb"[^ ]+ [^ ]+ HTTP/1\.[01]")


def judged(parts: Iterable[bytes], *, opening: bytes) -> tuple[list[bytes], ErrorKind | None]:
    """As `collected`, by a collector that knows what a message looks like and a reader that refuses what is none."""
    collector = HeadCollector(line_limit=LINE_LIMIT, head_limit=HEAD_LIMIT, first_line=REQUEST_LINE, opening=opening)
    heads: list[bytes] = []
    try:
        for part in parts:
            collector.add(part)
            while (head := collector.take_head()) is not None:
                if not REQUEST_LINE.fullmatch(head[: head.index(b"\r\n")]) or not head.startswith(opening):
                    return heads, ErrorKind.BAD_REQUEST
                heads.append(head)
    except Refusal as refusal:
        return heads, refusal.kind
    return heads, None


@given(STREAMS, PLACES, st.sampled_from([b"", b"GET"]))
def test_what_is_no_message_is_the_same_refusal_however_it_is_cut(
    stream: bytes, places: list[int], opening: bytes
) -> None:
    whole = judged([stream], opening=opening)
    assert judged(pieces(stream, places), opening=opening) == whole
    assert judged(single_bytes(stream), opening=opening) == whole


@pytest.mark.parametrize("stream", [b"GET /\r\n", b"GET / HTTP/2.0\r\nHost", b"<ht", b"\r\nSSH-2"])
def test_what_is_no_message_is_refused_before_its_head_is_whole(stream: bytes) -> None:
    assert judged([stream], opening=b"GET") == ([], ErrorKind.BAD_REQUEST)


def test_the_heads_before_a_bad_one_are_handed_on() -> None:
    good = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    assert collected([good + b"GET /\n"]) == ([good], ErrorKind.BAD_REQUEST)


def test_empty_lines_before_a_head_are_skipped() -> None:
    head = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    assert collected([b"\r\n\r\n" + head + b"\r\n" + head]) == ([head, head], None)


@pytest.mark.parametrize("before", [b"", b"GET / HTTP/1.1\r\nHost: b\r\n\r\n"])
@pytest.mark.parametrize("number", [1, EMPTY_LINES_MAX, EMPTY_LINES_MAX + 1, 1000])
def test_empty_lines_before_a_head_are_bounded_however_they_are_cut(before: bytes, number: int) -> None:
    head = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    stream = before + b"\r\n" * number + head
    is_served = number <= EMPTY_LINES_MAX
    heads = [each for each in (before, head if is_served else b"") if each]
    assert collected([stream]) == (heads, None if is_served else ErrorKind.BAD_REQUEST)
    assert collected(single_bytes(stream)) == collected([stream])


def test_what_follows_a_head_is_kept_to_the_byte() -> None:
    collector = HeadCollector(line_limit=LINE_LIMIT, head_limit=HEAD_LIMIT)
    collector.add(b"POST / HTTP/1.1\r\n\r\nbody\r\n\r")
    assert collector.take_head() == b"POST / HTTP/1.1\r\n\r\n"
    assert len(collector.pending) == 7
    assert collector.take_rest() == b"body\r\n\r"
    assert collector.pending == b""


def test_after_the_rest_was_taken_a_new_head_begins() -> None:
    collector = HeadCollector(line_limit=LINE_LIMIT, head_limit=HEAD_LIMIT)
    collector.add(b"half a he")
    assert collector.take_head() is None
    collector.take_rest()
    collector.add(b"GET /\r\n\r\n")
    assert collector.take_head() == b"GET /\r\n\r\n"
