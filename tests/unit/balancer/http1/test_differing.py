"""The lines in which two heads differ are found, and nothing else is taken for a head."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from balancer.http1.differing import differing_lines

LINES = st.lists(st.sampled_from((b"a", b"b", b"ab", b"ba", b"aab")), max_size=5)


def text(lines: list[bytes]) -> bytes:
    return b"".join(b"\r\n" + line for line in lines) + b"\r\n\r\n"


@given(LINES, LINES)
@example([b"a", b"b"], [b"a", b"ab", b"b"])
@example([b"a", b"b", b"a"], [b"a", b"a"])
def test_with_the_new_lines_in_their_place_the_lines_are_those_of_the_data(
    known: list[bytes], lines: list[bytes]
) -> None:
    found = differing_lines(text(known), b"line" + text(lines), 4)
    if found is not None:
        before, behind, start, rest, others = found
        assert 0 <= before < behind <= len(known)
        assert known[:before] + others + known[behind:] == lines
        whole = text(known)
        assert whole[start : len(whole) - rest] == b"\r\n".join(known[before:behind])


def test_only_what_differs_is_read() -> None:
    known, data = text([b"a: 1", b"b: 2", b"c: 3"]), text([b"a: 1", b"b: 20", b"c: 3"])
    assert differing_lines(known, data, 0) == (1, 2, 8, 10, [b"b: 20"])


@pytest.mark.parametrize("data", [b"", b"\r\n", b"\r\na: 1\r\nb: 3\r\n", b"\r\na: 1\r\nb: 2\r\n\r\nrest"])
def test_what_is_not_one_whole_head_has_no_lines(data: bytes) -> None:
    assert differing_lines(text([b"a: 1", b"b: 2"]), data, 0) is None


@given(LINES, st.text("ab\r\n", max_size=20).map(str.encode))
def test_bytes_behind_an_empty_line_make_a_line_that_is_none(known: list[bytes], rest: bytes) -> None:
    data = b"\r\na\r\n\r\n" + rest + b"\r\n\r\n"
    found = differing_lines(text(known), data, 0)
    assert found is None or b"" in found[4]
