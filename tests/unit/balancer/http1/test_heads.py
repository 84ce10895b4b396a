"""Heads: what is valid is read to the byte, what is hostile is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import RequestHead
from balancer.http1.collecting import HeadCollector
from balancer.http1.fields import lines_of
from balancer.http1.heads import REMEMBERED_BYTES_MAX, RequestHeadReader
from balancer.model.settings import ProxySettings

SETTINGS = ProxySettings()
CASES_FILE = Path(__file__).parents[3] / "cases" / "http_cases.json"
STRICT_CATEGORIES = {
    "framing-content-length",
    "framing-transfer-encoding",
    "framing-cl-te-conflict",
    "line-and-header-syntax",
    "request-line",
    "request-target-form",
    "host-header",
}
STRICT_CASES = [
    case
    for case in json.loads(CASES_FILE.read_text())["cases"]
    if case["side"] == "request"
    and case["category"] in STRICT_CATEGORIES
    and isinstance(case.get("raw"), str)
    and case["accept"] == ["reject"]
]

TOKENS = st.text(alphabet="abcXYZ-019!#$%&'*+.^_`|~", min_size=1, max_size=12).map(str.encode)
NAMES = TOKENS.filter(
    lambda name: name.lower() not in {b"host", b"content-length", b"transfer-encoding", b"connection", b"expect", b"te"}
)
VALUES = st.binary(max_size=20).map(
    lambda value: bytes(byte for byte in value if byte == 9 or (byte >= 32 and byte != 127)).strip(b" \t")
)
METHODS = st.one_of(st.sampled_from((b"GET", b"POST", b"PUT", b"DELETE", b"PATCH", b"OPTIONS", b"FOOBAR")), TOKENS)


def request(head: bytes, settings: ProxySettings = SETTINGS) -> RequestHead:
    return RequestHeadReader(settings).read(head)


def refusal_of(head: bytes, settings: ProxySettings = SETTINGS) -> ErrorKind:
    with pytest.raises(Refusal) as refusal:
        request(head, settings)
    return refusal.value.kind


def get(*lines: bytes) -> bytes:
    return b"\r\n".join((b"GET / HTTP/1.1", b"Host: app.test", *lines)) + b"\r\n\r\n"


@pytest.mark.parametrize("case", STRICT_CASES, ids=[case["id"] for case in STRICT_CASES])
def test_hostile_heads_that_must_be_rejected_are_refused(case: dict[str, Any]) -> None:
    collector = HeadCollector(line_limit=SETTINGS.head_line_bytes, head_limit=SETTINGS.head_bytes)
    collector.add(case["raw"].encode("latin-1"))
    reader = RequestHeadReader(SETTINGS)
    with pytest.raises(Refusal) as refusal:
        while (head := collector.take_head()) is not None:
            reader.read(head, collector.take_lines())
    assert refusal.value.kind in {ErrorKind.BAD_REQUEST, ErrorKind.METHOD_NOT_ALLOWED}


def test_the_strictness_table_is_not_empty() -> None:
    assert {case["category"] for case in STRICT_CASES} == STRICT_CATEGORIES
    assert len(STRICT_CASES) >= 40


@given(
    METHODS.filter(lambda method: method not in {b"CONNECT", b"TRACE"}),
    st.lists(
        st.tuples(NAMES, VALUES, st.sampled_from((b"", b" ", b"\t ", b"  ")), st.sampled_from((b"", b" ", b"\t")))
    ),
)
def test_every_field_is_read_to_the_byte_in_order_and_with_its_case(
    method: bytes, lines: list[tuple[bytes, bytes, bytes, bytes]]
) -> None:
    lines = [line for line in lines if line[0].lower() != b"upgrade"]
    fields = b"".join(b"%b:%b%b%b\r\n" % (name, before, value, after) for name, value, before, after in lines)
    head = request(method + b" /x HTTP/1.1\r\nHost: app.test\r\n" + fields + b"\r\n")
    assert head.method == method
    assert head.authority == b"app.test"
    assert head.fields == tuple((name.lower(), value) for name, value, _, _ in lines)
    assert lines_of(head).names == tuple(name for name, _, _, _ in lines)
    assert head.body_bytes == 0


@given(st.lists(st.sampled_from((b"GET", b"POST", b"FOO", b"OPTIONS")), min_size=2, max_size=5), st.data())
def test_one_reader_reads_many_heads_as_a_fresh_one_would(methods: list[bytes], data: st.DataObject) -> None:
    reader = RequestHeadReader(SETTINGS)
    extras = (
        b"",
        b"Content-Length: 5\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Connection: close\r\n",
        b"Bad Name: 1\r\n",
        b"Connection: upgrade\r\nUpgrade: websocket\r\n",
    )
    for method in methods:
        raw = method + b" / HTTP/1.1\r\nHost: a\r\n" + data.draw(st.sampled_from(extras)) + b"\r\n"
        assert outcome(reader, raw) == outcome(RequestHeadReader(SETTINGS), raw)


TARGETS = st.sampled_from(
    (
        *(b"/", b"/a", b"/a/b?c=d", b"/a?b#c", b"/%41", b"/a//b", b"/a/../b", b"/a/.", b"/?//", b"/a?%zz", b"*", b"a"),
        *(b"//", b"http://app.test/", b"/\xff", b"/a b", b'/"', b"/?\"'", b"/\x00", b"/?\r", b"/a\r\nX: y"),
        b"/" + b"a" * 9000,
    )
)
LINES = st.sampled_from(
    (
        b"\r\nHost: app.test\r\n\r\n",
        b"\r\nHost: app.test\r\nX-Request-ID: 7\r\nAccept: */*\r\n\r\n",
        b"\r\nHost: app.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
        b"\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"\r\nHost: app.test\r\nConnection: close\r\n\r\n",
        b"\r\nHost: app.test\r\nConnection: keep-alive, x\r\nX: 1\r\n\r\n",
        b"\r\nHost: app.test\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"\r\nHost: app.test\r\nMax-Forwards: 3\r\n\r\n",
        b"\r\n\r\n",
    )
)
# Heads of a few lines from a small pool often begin and end alike.
POOL = (
    b"Host: app.test",
    b"A: 1",
    b"A: 2",
    b"Bb: 1",
    b"Connection: close",
    b"Content-Length: 3",
    b"",
    b"none",
    b"X-Request-ID: 1",
)
LINES_OF_A_POOL = st.lists(st.sampled_from(POOL), max_size=5).map(
    lambda lines: b"".join(b"\r\n" + line for line in (b"Host: app.test", *lines)) + b"\r\n\r\n"
)
REQUEST_LINES = st.tuples(
    st.sampled_from((b"GET", b"HEAD", b"POST", b"OPTIONS", b"get", b"FOO", b"CONNECT", b"")),
    TARGETS,
    st.sampled_from((b"HTTP/1.1", b"HTTP/1.0", b"HTTP/1.11", b"http/1.1")),
)


@given(st.lists(st.tuples(REQUEST_LINES, LINES | LINES_OF_A_POOL), min_size=2, max_size=6))
def test_what_is_recognised_is_what_would_have_been_read(heads: list[tuple[tuple[bytes, bytes, bytes], bytes]]) -> None:
    reader = RequestHeadReader(SETTINGS)
    for line, lines in heads:
        raw = b" ".join(line) + lines
        recognised = reader.recognise(raw)
        if recognised is not None:
            assert said(recognised) | {"keep_alive": reader.keep_alive} == outcome_of_wire(raw)
        else:
            outcome(reader, raw)


def test_the_same_fields_are_recognised_with_another_target_and_method() -> None:
    reader = RequestHeadReader(SETTINGS)
    lines = b" HTTP/1.1\r\nHost: app.test\r\nAccept: */*\r\n\r\n"
    reader.read(b"GET /a" + lines)
    assert reader.recognise(b"POST /b?c" + lines) is not None
    assert reader.recognise(b"POST /b" + lines[:-2]) is None
    assert reader.recognise(b"GET /a" + lines + b"G") is None


def test_long_fields_are_not_remembered() -> None:
    reader = RequestHeadReader(SETTINGS)
    raw = get(b"Cookie: " + b"x" * REMEMBERED_BYTES_MAX)
    reader.read(raw)
    assert reader.recognise(raw) is None


def outcome_of_wire(raw: bytes) -> dict[str, Any] | ErrorKind | None:
    """What a fresh connection makes of bytes from the wire."""
    collector = HeadCollector(line_limit=SETTINGS.head_line_bytes, head_limit=SETTINGS.head_bytes)
    collector.add(raw)
    try:
        head = collector.take_head()
    except Refusal as refusal:
        return refusal.kind
    return outcome(RequestHeadReader(SETTINGS), head, collector.take_lines()) if head == raw else None


def outcome(reader: RequestHeadReader, raw: bytes, lines: list[bytes] | None = None) -> dict[str, Any] | ErrorKind:
    try:
        head = reader.read(raw, lines)
    except Refusal as refusal:
        return refusal.kind
    return said(head) | {"keep_alive": reader.keep_alive}


def said(head: RequestHead) -> dict[str, Any]:
    """All that a head says, with what HTTP/1 knows of it; not what is only remembered with it."""
    lines = lines_of(head)
    of_lines = {name: getattr(lines, name) for name in ("request_id", "names", "connection_options")}
    return {name: getattr(head, name) for name in head.__struct_fields__ if name != "repeated"} | of_lines


def test_an_ordinary_request() -> None:
    head = request(b"GET /a%20b?c=d HTTP/1.1\r\nHost: App.test:8080\r\nAccept: */*\r\n\r\n")
    assert (head.method, head.protocol) == (b"GET", "HTTP/1.1")
    assert (head.target, head.raw_target, head.path) == (b"/a%20b?c=d", b"/a%20b?c=d", b"/a b")
    assert (head.authority, head.host_name) == (b"App.test:8080", b"app.test")
    assert head.fields == ((b"accept", b"*/*"),)
    assert lines_of(head).names == (b"Accept",)
    assert not head.expects_continue
    assert lines_of(head).connection_options == ()
    assert head.upgrade == b""


@pytest.mark.parametrize(
    ("line", "fields", "keep_alive"),
    [
        (b"GET / HTTP/1.1", b"", True),
        (b"GET / HTTP/1.1", b"Connection: close\r\n", False),
        (b"GET / HTTP/1.1", b"Connection: x, CLOSE\r\n", False),
        (b"GET / HTTP/1.1", b"Connection: x\r\nConnection: close\r\n", False),
        (b"GET / HTTP/1.0", b"", False),
        (b"GET / HTTP/1.0", b"Connection: Keep-Alive\r\n", True),
        (b"GET / HTTP/1.0", b"Connection: keep-alive, close\r\n", False),
    ],
)
def test_whether_the_connection_goes_on(line: bytes, fields: bytes, keep_alive: bool) -> None:
    reader = RequestHeadReader(SETTINGS)
    reader.read(line + b"\r\nHost: a\r\n" + fields + b"\r\n")
    assert reader.keep_alive is keep_alive


@pytest.mark.parametrize(
    ("fields", "body_bytes"),
    [
        (b"", 0),
        (b"Content-Length: 0\r\n", 0),
        (b"Content-Length: 12\r\n", 12),
        (b"Content-Length:\t7 \r\n", 7),
        (b"Transfer-Encoding: chunked\r\n", None),
        (b"transfer-encoding: CHUNKED\r\n", None),
        (b"Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n", None),
        (b"Connection: upgrade\r\nUpgrade: x\r\nContent-Length: 3\r\n", 3),
    ],
)
def test_the_framing_is_decided_by_us(fields: bytes, body_bytes: int | None) -> None:
    assert request(b"POST / HTTP/1.1\r\nHost: a\r\n" + fields + b"\r\n").body_bytes == body_bytes


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([b"Content-Length: 5", b"Transfer-Encoding: chunked"], id="both framings"),
        pytest.param([b"Content-Length: 5", b"Content-Length: 5"], id="two lengths"),
        pytest.param([b"Content-Length:", b"Content-Length: 5"], id="empty length first"),
        pytest.param([b"Host: app.test"], id="two Hosts"),
        pytest.param([b"X: a", b" folded"], id="folded field"),
        pytest.param([b"X : a"], id="space before the colon"),
        pytest.param([b": a"], id="no name"),
        pytest.param([b"X"], id="no colon"),
        pytest.param([b"X: a\x01b"], id="control byte"),
        pytest.param([b"X: a\x7fb"], id="DEL"),
        pytest.param([b"X\xe9: a"], id="name that is not ASCII"),
        pytest.param([b"X(: a"], id="name that is no token"),
    ],
)
def test_fields_that_are_ambiguous_or_malformed_are_refused(lines: list[bytes]) -> None:
    assert refusal_of(get(*lines)) is ErrorKind.BAD_REQUEST
    assert refusal_of(get(*lines).replace(b"GET", b"FOOBAR", 1)) is ErrorKind.BAD_REQUEST


@pytest.mark.parametrize(
    "line",
    [
        b"GET /",
        b"GET / HTTP/2.0",
        b"GET / HTTP/1.2",
        b"GET / HTTP/01.1",
        b"GET / http/1.1",
        b"GET  / HTTP/1.1",
        b"GET\t/ HTTP/1.1",
        b" GET / HTTP/1.1",
        b"GET / HTTP/1.1 ",
        b"GET /a b HTTP/1.1",
        b"GE(T / HTTP/1.1",
        b"G\xc9T / HTTP/1.1",
        b"GET /a\x7f HTTP/1.1",
        b"GET  HTTP/1.1",
        b" / HTTP/1.1",
    ],
)
def test_a_request_line_has_exactly_a_method_a_target_and_a_known_version(line: bytes) -> None:
    assert refusal_of(line + b"\r\nHost: a\r\n\r\n") is ErrorKind.BAD_REQUEST


@pytest.mark.parametrize("line", [b"CONNECT a.test:443 HTTP/1.1", b"TRACE / HTTP/1.1"])
def test_connect_and_trace_are_not_served(line: bytes) -> None:
    assert refusal_of(line + b"\r\nHost: a.test\r\n\r\n") is ErrorKind.METHOD_NOT_ALLOWED


@pytest.mark.parametrize("version", [b"HTTP/1.1", b"HTTP/1.0"])
@pytest.mark.parametrize(
    "lines", [b"Expect: 200-ok", b"Expect: 100-continue, x", b"Expect: 100-continue\r\nExpect: x=1", b"Expect: 100"]
)
def test_an_expectation_that_nobody_knows_is_refused(version: bytes, lines: bytes) -> None:
    head = b"POST / %b\r\nHost: a\r\n%b\r\nContent-Length: 1\r\n\r\n" % (version, lines)
    assert refusal_of(head) is ErrorKind.EXPECTATION_FAILED


@pytest.mark.parametrize(
    ("lines", "expects"),
    [
        (b"Expect: 100-continue\r\nExpect: 100-Continue", True),
        (b"Expect: 100-continue, ,100-continue", True),
        (b"Expect:", False),
        (b"Expect: ,", False),
    ],
)
def test_an_expectation_said_twice_or_empty_is_no_other_one(lines: bytes, expects: bool) -> None:
    assert request(b"POST / HTTP/1.1\r\nHost: a\r\n%b\r\nContent-Length: 1\r\n\r\n" % lines).expects_continue is expects


def test_expect_counts_on_http_1_1_only() -> None:
    lines = b"\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n"
    assert request(b"POST / HTTP/1.1" + lines).expects_continue
    assert not request(b"POST / HTTP/1.0" + lines).expects_continue


def test_an_upgrade_is_named_only_if_connection_names_it() -> None:
    assert request(get(b"Connection: Upgrade", b"Upgrade: websocket")).upgrade == b"websocket"
    assert request(get(b"Upgrade: websocket")).upgrade == b""


def test_too_many_fields_and_fields_too_long_are_told_apart_from_malformed_ones() -> None:
    settings = msgspec.structs.replace(SETTINGS, head_lines_max=3, head_line_bytes=50)
    assert len(request(get(b"A: 1", b"B: 2"), settings).fields) == 2
    assert refusal_of(get(b"A: 1", b"B: 2", b"C: 3"), settings) is ErrorKind.HEAD_TOO_LARGE
    assert refusal_of(get(b"A: " + b"x" * 60), settings) is ErrorKind.HEAD_TOO_LARGE
    assert refusal_of(get(b"Connection: " + b"x" * 60), settings) is ErrorKind.HEAD_TOO_LARGE
    assert refusal_of(get(b"A: " + b"x" * 60).replace(b"GET", b"FOO"), settings) is ErrorKind.HEAD_TOO_LARGE
