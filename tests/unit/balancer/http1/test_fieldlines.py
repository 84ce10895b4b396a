"""Field lines: what is valid is split to the byte, all else is refused, and what is remembered is bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import ErrorKind, Refusal
from balancer.http.passing import passing
from balancer.http1.fieldlines import FieldLineReader, FieldLines, are_logged, beginning_onward
from tests.features.fuzz.lines import in_our_order, lines_by_llhttp

SPECIAL = frozenset((b"host", b"transfer-encoding"))
ANY_BYTES = st.binary(max_size=12)
PIECES = st.sampled_from(
    (b"Host", b"X-A", b"x_y", b"Accept", b":", b": ", b" ", b"\t", b"\r", b"\n", b"\x00", b"\xff", b"1")
)
LINES = st.lists(st.one_of(st.lists(PIECES, max_size=6).map(b"".join), ANY_BYTES), max_size=4)


def reader() -> FieldLineReader:
    return FieldLineReader(SPECIAL, ErrorKind.BAD_REQUEST, lambda name: beginning_onward(name, passing()))


def read(*texts: bytes) -> FieldLines:
    return reader().read(list(texts))


@given(LINES)
def test_lines_are_admitted_and_split_as_llhttp_does(lines: list[bytes]) -> None:
    head = b"\r\n".join((b"GET / HTTP/1.1", *lines)) + b"\r\n\r\n"
    head = head[: head.index(b"\r\n\r\n") + 4]
    theirs = lines_by_llhttp(head, is_response=False)
    try:
        found = reader().read(head.split(b"\r\n")[1:-2])
    except Refusal:
        assert theirs is None
        return
    assert theirs is not None
    spelled = zip(found.names, (value for _, value in found.fields), strict=True)
    assert [*found.special, *spelled] == in_our_order(theirs, SPECIAL)


@given(st.lists(LINES, max_size=4))
def test_a_reader_that_remembers_reads_as_a_fresh_one(heads: list[list[bytes]]) -> None:
    lasting = reader()
    for lines in [*heads, *heads]:
        assert outcome(lasting, lines) == outcome(reader(), lines)


def outcome(reader: FieldLineReader, lines: list[bytes]) -> tuple[object, ...] | None:
    try:
        found = reader.read(lines)
    except Refusal:
        return None
    return found.fields, found.names, found.special, b"".join(found.onward), found.request_id


@pytest.mark.parametrize(
    "line",
    [
        *(
            b"",
            b"X",
            b":",
            b": a",
            b"X : a",
            b"X\t: a",
            b" X: a",
            b"\tX: a",
            b"X(: a",
            b"X\xe9: a",
            b"X\x00: a",
            b"X\r: a",
        ),
        *(
            b"X: a\x00",
            b"X: a\x01b",
            b"X: \x0b",
            b"X: a\x0c",
            b"X: a\x1fb",
            b"X: \x7f",
            b"X: a\rb",
            b"X: a\nb",
            b"X: a\r",
        ),
    ],
)
def test_what_is_no_field_line_is_refused(line: bytes) -> None:
    for lines in ([line], [b"Accept: */*", line], [line, b"Accept: */*"]):
        with pytest.raises(Refusal) as refusal:
            read(*lines)
        assert refusal.value.kind is ErrorKind.BAD_REQUEST


@pytest.mark.parametrize("line", [b"Transfer-Encoding: chunked\t", b"transfer-encoding:chunked \t "])
def test_a_tab_behind_a_transfer_coding_is_refused(line: bytes) -> None:
    with pytest.raises(Refusal):
        read(line)
    assert read(b"Transfer-Encoding:\tchunked ").values(b"transfer-encoding") == [b"chunked"]


def test_white_space_around_a_value_is_no_part_of_it() -> None:
    found = read(b"A:1", b"B: \t2 \t", b"C:", b"D: \t ", b"E: a\t b", b"Host:\tx ")
    assert found.fields == [(b"a", b"1"), (b"b", b"2"), (b"c", b""), (b"d", b""), (b"e", b"a\t b")]
    assert found.special == [(b"host", b"x")]
    assert found.count() == 6


def test_lines_are_written_onward_but_for_those_that_end_here() -> None:
    found = read(b"Host: a", b"X-A:  1 ", b"TE: trailers", b"x_a: 1", b"X-Forwarded-For: 1.2.3.4", b"X-Request-ID: 7")
    assert b"".join(found.onward) == b"\r\nX-A: 1\r\nX-Original-Forwarded-For: 1.2.3.4\r\nX-Request-ID: 7"
    assert found.request_id == b"7"
    assert read(b"X-Request-ID: 1", b"x-request-id: 2").request_id == b"1"


def test_secrets_and_rare_names_are_not_remembered_and_the_rest_is_bounded() -> None:
    lasting = reader()
    lasting.read([b"Cookie: a", b"Authorization: b", b"Referer: c", b"X-Other: d", b"Accept: " + b"x" * 200])
    assert not lasting._lines
    for number in range(9000):
        lasting.read([b"User-Agent: %d" % number, b"X-%d: 1" % number, b"Y%b-%d: 1" % (b"y" * 80, number)])
        assert len(lasting._lines) <= 8192
        assert len(lasting._names) <= 256
    assert not any(len(name) > 64 for name in lasting._names)


def test_the_hosts_of_a_large_cluster_are_remembered() -> None:
    lasting = reader()
    texts = [b"Host: host-%d.example" % number for number in range(5000)]
    first = lasting.lines_of(texts)
    assert all(one is other for one, other in zip(first, lasting.lines_of(texts), strict=True))


@given(st.sampled_from((b"Host", b"X-A", b"x_y", b"Referer", b"CDN-Loop")), st.sampled_from((b"", b"1", b"another")))
def test_a_line_with_another_value_is_the_line_that_has_it(name: bytes, value: bytes) -> None:
    (line,), (other,) = reader().lines_of([name + b": before"]), reader().lines_of([name + b": " + value])
    made = line.with_value(value)
    names = type(made).__slots__
    assert [getattr(made, each) for each in names] == [getattr(other, each) for each in names]


@pytest.mark.parametrize("name", [b"Host", b"X-A", b"User-Agent", b"Referer", b"traceparent", b"X-Request-ID"])
def test_the_access_log_says_something_of_few_fields(name: bytes) -> None:
    (line,) = reader().lines_of([name + b": 1"])
    is_logged = name not in {b"Host", b"X-A"}
    assert line.is_logged() is is_logged
    assert are_logged([*reader().lines_of([b"X-A: 1"]), line]) is is_logged
