"""Other values in the place of those of a known head are what the whole head would be read as."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import ErrorKind
from balancer.http.passing import passing
from balancer.http1.fieldlines import FieldLineReader, FieldLines, beginning_onward
from balancer.http1.replacing import LinePlace, fields_with, have_other_values, onward_with

RULES = passing(False, ())
BEGINNING = b"X-Forwarded-Host: app.test"
NAMES = (b"Host", b"Cookie", b"Accept", b"Under_score", b"X-Request-ID", b"Content-Length", b"Forwarded")


def reader() -> FieldLineReader:
    special = frozenset((b"host", b"content-length"))
    return FieldLineReader(special, ErrorKind.BAD_REQUEST, lambda name: beginning_onward(name, RULES))


def onward(found: FieldLines) -> bytes:
    return b"".join([BEGINNING, *found.onward, b"\r\n"])


@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=8), st.data())
def test_the_head_is_what_it_would_be_if_all_of_its_lines_were_read(names: list[bytes], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(names) - 1))
    stop = data.draw(st.integers(start + 1, len(names)))
    texts = [name + b": before" for name in names]
    values = [b": " + b"x" * data.draw(st.integers(0, 9)) for _ in range(start, stop)]
    new = [name + value for name, value in zip(names[start:stop], values, strict=True)]
    known, whole = reader().read(texts), reader().read([*texts[:start], *new, *texts[stop:]])
    others = reader().lines_of(new)
    passes = not {b"Host", b"X-Request-ID", b"Content-Length"}.intersection(names[start:stop])
    assert have_other_values(others, known.lines, start, stop) is passes
    if passes:
        assert fields_with(others, tuple(known.fields), known.lines, start) == tuple(whole.fields)
        assert onward_with(others, onward(known), known.lines, start) == onward(whole)


@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=8), st.data())
def test_a_place_says_where_a_line_has_its_field_and_what_is_passed_on(names: list[bytes], data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(names) - 1))
    found = reader().read([name + b": before" for name in names])
    line, passed = found.lines[number], onward(found)
    place = LinePlace(found.lines, number, 7, 9)
    assert (place.number, place.start, place.rest) == (number, 7, 9)
    end = len(passed) - place.onward_rest
    assert passed[end - len(line.onward) : end] == line.onward
    if names[number] not in {b"Host", b"Content-Length"}:
        assert found.fields[place.field] is line.field


@pytest.mark.parametrize("new", [[], [b"Cookie: 2", b"Cookie: 3"], [b"cookie: 2"], [b"Accept: 2"]])
def test_other_names_or_another_number_of_lines_are_more_than_other_values(new: list[bytes]) -> None:
    lines = reader().lines_of([b"Host: app.test", b"Cookie: 1"])
    assert not have_other_values(reader().lines_of(new), lines, 1, 2)
