"""How far two messages are alike, from both ends, and where lines end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from balancer.http.calls import (
    alike_from_start,
    alike_to_end,
    are_alike_around,
    begins_with,
    ends_with,
    is_value,
    last_line_end,
    line_ends,
    next_line_end,
    spliced,
    value_behind,
    value_of,
    with_item,
)


def first_difference(one: bytes, other: bytes) -> int:
    return next(
        (place for place, (its, others) in enumerate(zip(one, other, strict=False)) if its != others),
        min(len(one), len(other)),
    )


FEW_BYTES = st.text("ab\r", max_size=12).map(str.encode)


@given(FEW_BYTES, FEW_BYTES, FEW_BYTES)
def test_bytes_are_alike_up_to_the_first_that_differs(one: bytes, before: bytes, other: bytes) -> None:
    assert alike_from_start(one, before + other, len(before)) == first_difference(one, other)


@given(FEW_BYTES, FEW_BYTES, st.integers(0, 12))
def test_bytes_are_alike_back_to_the_last_that_differs(one: bytes, other: bytes, most: int) -> None:
    most = min(most, len(one), len(other))
    assert alike_to_end(one, other, most) == min(most, first_difference(one[::-1], other[::-1]))


@given(FEW_BYTES, FEW_BYTES)
def test_how_bytes_begin_and_end(one: bytes, other: bytes) -> None:
    assert begins_with(one, other) is one.startswith(other)
    assert ends_with(one, other) is one.endswith(other)


LINE_BYTES = st.text("a\r\n", max_size=9).map(str.encode)


@given(LINE_BYTES, st.integers(0, 9), st.integers(0, 9))
def test_ends_of_lines_are_whole(data: bytes, start: int, stop: int) -> None:
    ends = [place for place in range(len(data) - 1) if data[place : place + 2] == b"\r\n"]
    start, stop = min(start, len(data)), min(stop, len(data))
    assert last_line_end(data, stop) == max((place for place in ends if place + 2 <= stop), default=-1)
    assert next_line_end(data, start) == min((place for place in ends if place >= start), default=-1)
    assert line_ends(data, start, stop) == sum(start <= place <= stop - 2 for place in ends)


@given(st.text("a \t:", max_size=9).map(str.encode), st.integers(0, 9))
def test_a_value_has_no_white_space_around_it(line: bytes, start: int) -> None:
    value = value_behind(line, min(start, len(line)))
    assert value == line[min(start, len(line)) :].strip(b" \t")


@given(st.integers(0, 255))
def test_a_value_has_no_control_byte_but_tabs(byte: int) -> None:
    assert is_value(bytes((97, byte, 97))) is (byte == 9 or 32 <= byte != 127)
    assert is_value(b"")


@given(FEW_BYTES, FEW_BYTES, FEW_BYTES, st.integers(0, 12), st.integers(0, 12))
def test_bytes_are_alike_around_what_stands_between(
    known: bytes, before: bytes, other: bytes, first: int, last: int
) -> None:
    are_alike = other[:first] == known[:first] and other[len(other) - last :] == known[len(known) - last :]
    fit = first + last <= len(known) and first + last <= len(other)
    assert are_alike_around(known, before + other, len(before), first, last) is (fit and are_alike)


@given(st.text("aX: \t\r\0\x7f", max_size=9).map(str.encode), st.text(":\n", max_size=2).map(str.encode))
def test_the_value_of_a_line_is_that_of_a_valid_one_with_that_name(line: bytes, around: bytes) -> None:
    name, colon, value = line.partition(b":")
    value = value.strip(b" \t")
    is_one = name == b"aX" and bool(colon) and is_value(value)
    found = value_of(b"aX", around + line + around, len(around), len(around) + len(line))
    assert found == (value if is_one else None)


@given(FEW_BYTES, FEW_BYTES, FEW_BYTES, FEW_BYTES)
def test_a_piece_is_put_in_the_place_of_others(before: bytes, old: bytes, behind: bytes, piece: bytes) -> None:
    data, stop = before + old + behind, len(before) + len(old)
    assert spliced(data, len(before), stop, piece) == before + piece + behind


@given(st.lists(st.text(), min_size=1, max_size=5), st.data())
def test_an_item_is_put_in_the_place_of_another(items: list[str], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(items) - 1))
    assert with_item(tuple(items), place, "new") == (*items[:place], "new", *items[place + 1 :])
