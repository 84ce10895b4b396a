"""Response heads: what is valid is read to the byte, what is ambiguous or malformed is invalid."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import ErrorKind, Refusal
from balancer.http1.framing import CHUNKED, UNTIL_CLOSE
from balancer.http1.heads import Http1Response
from balancer.http1.responses import ResponseHeadReader
from tests.unit.balancer.http1.test_heads import NAMES, VALUES


def said(head: Http1Response) -> dict[str, Any]:
    """All that a head says; not what is only remembered with it."""
    return {name: getattr(head, name) for name in head.__struct_fields__ if name != "written"}


def response(head: bytes, method: bytes = b"GET") -> Http1Response:
    return ResponseHeadReader().read(head, method)


@given(st.lists(st.tuples(NAMES, VALUES), max_size=5))
def test_every_response_field_is_read_to_the_byte_in_order_and_with_its_case(lines: list[tuple[bytes, bytes]]) -> None:
    lines = [line for line in lines if line[0].lower() != b"upgrade"]
    fields = b"".join(b"%b: %b\r\n" % line for line in lines)
    head = response(b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n")
    assert head.fields == tuple((name.lower(), value) for name, value in lines)
    assert head.names == tuple(name for name, _ in lines)


@given(
    st.lists(
        st.tuples(st.sampled_from((b"GET", b"HEAD")), st.sampled_from((b"", b"X: 1\r\n", b"Content-Length: 3\r\n")))
    )
)
def test_a_response_that_is_recognised_is_what_would_have_been_read(asked: list[tuple[bytes, bytes]]) -> None:
    reader = ResponseHeadReader()
    for method, fields in asked:
        head = b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n"
        recognised = reader.recognise(head + b"abc", method)
        if recognised is not None:
            assert (said(recognised), reader.known_bytes) == (said(response(head, method)), len(head))
        else:
            reader.read(head, method)
    assert not asked or reader.recognise(head, method) is not None


def test_an_interim_response_is_not_remembered() -> None:
    reader = ResponseHeadReader()
    reader.read(b"HTTP/1.1 103 Early Hints\r\n\r\n", b"GET")
    assert reader.recognise(b"HTTP/1.1 103 Early Hints\r\n\r\n", b"GET") is None


@pytest.mark.parametrize(
    ("head", "framing", "keep_alive"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", 3, True),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", CHUNKED, True),
        (b"HTTP/1.1 200 OK\r\n\r\n", UNTIL_CLOSE, True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\n", 3, False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n", 3, False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\n", 3, True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 0, True),
        (b"HTTP/1.1 100 Continue\r\n\r\n", 0, True),
    ],
)
def test_a_response_says_how_it_ends_and_whether_another_may_follow(
    head: bytes, framing: int, keep_alive: bool
) -> None:
    read = response(head)
    assert (read.framing, read.keep_alive) == (framing, keep_alive)
    assert read.body_bytes == (framing if framing >= 0 else None)


def test_the_reason_phrase_passes_as_it_came() -> None:
    read = response(b"HTTP/1.1 299 Quite all right\r\nContent-Length: 0\r\n\r\n")
    assert (read.status, read.reason) == (299, b"Quite all right")
    assert response(b"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n").reason == b""
    assert response(b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n").reason == b""


@pytest.mark.parametrize(
    ("head", "method", "told"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n", b"HEAD", b"12"),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 12\r\n\r\n", b"GET", b"12"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"GET", b"0"),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", b"GET", None),
    ],
)
def test_a_length_without_a_body_passes_as_a_field_but_with_204(head: bytes, method: bytes, told: bytes | None) -> None:
    read = response(head, method)
    assert read.framing == 0
    assert dict(read.fields).get(b"content-length") == told


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", id="two lengths"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", id="both framings"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", id="another coding"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX : a\r\n\r\n", id="space before the colon"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", id="folded field"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX: a\x01\r\n\r\n", id="control byte"),
        pytest.param(b"HTTP/1.1 99 Low\r\n\r\n", id="status of two digits"),
        pytest.param(b"HTTP/1.1 600 High\r\n\r\n", id="status above 599"),
        pytest.param(b"HTTP/1.1 2000 OK\r\n\r\n", id="status of four digits"),
        pytest.param(b"HTTP/2.0 200 OK\r\n\r\n", id="unknown version"),
        pytest.param(b"HTTP/1.2 200 OK\r\n\r\n", id="unknown minor version"),
        pytest.param(b"ICY 200 OK\r\n\r\n", id="another protocol"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="a request"),
        pytest.param(b"HTTP/1.1 200 O\x01K\r\n\r\n", id="control byte in the reason"),
        pytest.param(b"HTTP/1.1 200\tOK\r\n\r\n", id="tab after the status"),
        pytest.param(b"HTTP/1.1  200 OK\r\n\r\n", id="two spaces before the status"),
        pytest.param(b"HTTP/1.1 103 Early\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", id="two lengths, 1xx"),
        pytest.param(b"HTTP/1.1 103 Early\r\nContent-Length: x\r\n\r\n", id="malformed length, 1xx"),
    ],
)
def test_responses_that_are_ambiguous_or_malformed_are_invalid(head: bytes) -> None:
    with pytest.raises(Refusal) as refusal:
        response(head)
    assert refusal.value.kind is ErrorKind.INVALID_RESPONSE
