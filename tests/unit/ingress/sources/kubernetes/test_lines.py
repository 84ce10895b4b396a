"""Lines come out whole, however the bytes were cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ingress.sources.kubernetes.lines import LINE_BYTES_MAX, Lines
from tests.properties import examples

_LINES = st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b" ").strip()), max_size=8)


def fed(lines: Lines, *pieces: bytes) -> list[bytes]:
    return [line for piece in pieces for line in lines.feed(piece)]


def test_a_line_comes_out_with_its_end_and_not_before() -> None:
    lines = Lines()
    assert fed(lines, b'{"a":', b"1}") == []
    assert fed(lines, b"\n{") == [b'{"a":1}']


def test_what_has_no_end_is_forgotten() -> None:
    assert fed(Lines(), b"1\n2\nhalf") == [b"1", b"2"]


def test_empty_lines_and_carriage_returns_are_none_of_an_event() -> None:
    assert fed(Lines(), b"\n\r\n1\r\n\n 2 \n") == [b"1", b"2"]


@examples(60)
@given(_LINES, st.data())
def test_no_cut_changes_the_lines(expected: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in expected)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    lines = Lines()
    assert fed(lines, *pieces) == [line for line in expected if line]
    assert lines.dropped == 0


@examples(60)
@given(st.lists(st.binary(max_size=30).map(lambda line: b"x" + line.replace(b"\n", b"") + b"x"), max_size=8))
def test_a_line_over_the_limit_is_dropped_alone(sent: list[bytes]) -> None:
    lines = Lines(limit_bytes=16)
    stream = b"".join(line + b"\n" for line in sent)
    whole = fed(lines, *(stream[at : at + 5] for at in range(0, len(stream), 5)))
    assert whole == [line for line in sent if len(line) <= 16]
    assert lines.dropped == len(sent) - len(whole)


def test_a_line_that_never_ends_is_counted_once_and_not_kept() -> None:
    lines = Lines(limit_bytes=100)
    for _ in range(50):
        assert lines.feed(b"x" * 60) == []
    assert lines.dropped == 1
    assert fed(lines, b"\nnext\n") == [b"next"]


def test_the_limit_holds_what_the_api_stores_many_times() -> None:
    assert LINE_BYTES_MAX == 16 * 1024 * 1024
    lines = Lines()
    assert [len(line) for line in fed(lines, b"x" * LINE_BYTES_MAX, b"\n")] == [LINE_BYTES_MAX]
