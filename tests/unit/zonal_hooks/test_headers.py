"""Header fields as hooks read them, and what a hook must not write."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zonal_hooks.headers import FRAMING, Headers, checked_name, checked_value

HEADERS = Headers(((b"accept", b"a"), (b"x-id", b"7"), (b"accept", b"b"), (b"x-name", b"J\xfcrgen")))


def test_names_are_compared_without_case() -> None:
    assert HEADERS.get("Accept") == "a"
    assert HEADERS["X-ID"] == "7"
    assert HEADERS.all("ACCEPT") == ("a", "b")
    assert "x-Id" in HEADERS


def test_a_field_that_is_not_there_has_the_default() -> None:
    assert HEADERS.get("x-other") is None
    assert HEADERS.get("x-other", "none") == "none"
    assert HEADERS.all("x-other") == ()
    assert "x-other" not in HEADERS
    assert 7 not in HEADERS
    with pytest.raises(KeyError):
        HEADERS["x-other"]


def test_a_name_beyond_latin_1_is_no_field() -> None:
    assert HEADERS.get("x-\u20ac") is None


def test_long_names_are_found_and_not_remembered() -> None:
    long = "X-" + "n" * 10_000
    assert Headers(((long.lower().encode(), b"a"),)).get(long) == "a"
    tracemalloc.start()
    try:
        for number in range(100):
            assert HEADERS.get(f"{long}{number}") is None
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 100_000


def test_fields_come_in_their_order() -> None:
    assert list(HEADERS) == [("accept", "a"), ("x-id", "7"), ("accept", "b"), ("x-name", "Jürgen")]
    assert len(HEADERS) == 4
    assert repr(Headers(((b"a", b"b"),))) == "Headers([('a', 'b')])"


@pytest.mark.parametrize("name", sorted(FRAMING))
def test_no_hook_frames_a_message(name: str) -> None:
    with pytest.raises(ValueError, match="must not write"):
        checked_name(name.title())


@pytest.mark.parametrize("name", ["", "x y", "x:y", "x\r\ny", "x\0", ":path", "ü", "x" * 257, "x\n"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no header name"):
        checked_name(name)


@pytest.mark.parametrize("value", ["a\r\nb: c", "a\nb", "a\0", " a", "a ", "\x7f", "a\x1b", "\u20ac", "a\n"])
def test_a_value_that_could_end_a_line_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="control characters"):
        checked_value(value)


def test_a_long_value_is_refused() -> None:
    assert checked_value("x" * 8192) == b"x" * 8192
    with pytest.raises(ValueError, match="at most 8192"):
        checked_value("x" * 8193)


@pytest.mark.parametrize("judge", [checked_name, checked_value])
def test_only_texts_are_names_and_values(judge: object) -> None:
    class Text(str):
        """A text that could say something else later."""

    for wrong in (b"x", 7, None, Text("x")):
        with pytest.raises(TypeError):
            judge(wrong)  # type: ignore[operator]


@given(st.text())
def test_whatever_is_accepted_stays_within_its_line(value: str) -> None:
    try:
        written = checked_value(value)
    except ValueError:
        return
    assert not any(byte in written for byte in b"\r\n\0")
    assert written == written.strip(b" \t")
