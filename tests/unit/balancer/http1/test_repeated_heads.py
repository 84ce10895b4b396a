"""A request head that repeats the last one, or its request line, means what it would mean on a fresh connection."""

from __future__ import annotations

import pytest

from balancer.http.memos import Memo
from balancer.http.messages import RequestHead
from balancer.http1.heads import RequestHeadReader
from balancer.model.settings import ProxySettings

SETTINGS = ProxySettings()
LINES = b" HTTP/1.1\r\nHost: app.test\r\nAccept: */*\r\n\r\n"


def said(head: RequestHead) -> list[object]:
    return [getattr(head, name) for name in head.__struct_fields__ if name != "repeated"]


def test_the_same_bytes_are_the_same_head_again() -> None:
    reader = RequestHeadReader(SETTINGS)
    first = reader.read(b"GET /%61" + LINES)
    assert reader.recognise(b"GET /%61" + LINES) is first
    other = reader.recognise(b"GET /b" + LINES)
    assert other is not None
    assert other is not first
    assert reader.recognise(b"GET /b" + LINES) is other


@pytest.mark.parametrize("line", [b"GET /a?b", b"POST /%61//b/../c?d"])
def test_the_same_request_line_before_other_fields_means_the_same(line: bytes) -> None:
    reader = RequestHeadReader(SETTINGS)
    for lines in (LINES, LINES.replace(b"*", b"text"), LINES.replace(b"app", b"shop")):
        assert said(reader.read(line + lines)) == said(RequestHeadReader(SETTINGS).read(line + lines))


def test_lines_without_a_request_line_are_not_recognised() -> None:
    reader = RequestHeadReader(SETTINGS)
    reader.read(b"GET /" + LINES)
    assert reader.recognise(LINES.removeprefix(b" HTTP/1.1")) is None


HOST, AGENT, COOKIE, ACCEPT = b"Host: app.test", b"User-Agent: x", b"Cookie: a=1", b"Accept: */*"


def whole(*lines: bytes, line: bytes = b"GET /a HTTP/1.1") -> bytes:
    return b"".join(text + b"\r\n" for text in (line, *lines)) + b"\r\n"


@pytest.mark.parametrize(
    "other",
    [
        whole(HOST, AGENT, b"Cookie: a=2", ACCEPT),
        whole(HOST, AGENT, b"Cookie: a=2", ACCEPT, line=b"POST /b?c HTTP/1.1"),
        whole(HOST, AGENT, ACCEPT),
        whole(HOST, AGENT, COOKIE, b"Dnt: 1", ACCEPT),
        whole(b"Host: shop.test", AGENT, COOKIE, ACCEPT),
        whole(HOST, AGENT, COOKIE, b"Connection: close", ACCEPT),
        whole(HOST, AGENT, b"Content-Length: 3", ACCEPT),
        whole(HOST, AGENT, b"X-Request-ID: 1", ACCEPT),
    ],
)
def test_a_head_with_other_lines_is_recognised_and_means_what_it_would_mean_alone(other: bytes) -> None:
    reader, fresh = RequestHeadReader(SETTINGS), RequestHeadReader(SETTINGS)
    reader.read(whole(HOST, AGENT, COOKIE, ACCEPT))
    recognised, alone = reader.recognise(other), fresh.read(other)
    assert recognised is not None
    assert said(recognised) == said(alone)
    assert recognised.repeated.request_id == alone.repeated.request_id
    assert recognised.repeated.connection_options == alone.repeated.connection_options
    assert reader.keep_alive == fresh.keep_alive


@pytest.mark.parametrize(
    "other",
    [
        whole(HOST, AGENT, b"Cookie: a\n=2", ACCEPT),
        whole(HOST, AGENT, b" folded", ACCEPT),
        whole(HOST, AGENT, b"", ACCEPT),
        whole(HOST, AGENT, b"no field", ACCEPT),
        whole(HOST, HOST, COOKIE, ACCEPT),
        whole(HOST, AGENT, b"Cookie: a=2", ACCEPT) + b"body",
        whole(HOST, AGENT, b"Cookie: a=2", ACCEPT)[:-1],
        whole(HOST, AGENT, b"Cookie: a=2", ACCEPT, line=b"GET /\0 HTTP/1.1"),
        whole(HOST, AGENT, b"Cookie: a=2", ACCEPT, line=b""),
        whole(HOST, *(b"X: 1" for _ in range(SETTINGS.head_lines_max)), ACCEPT),
    ],
)
def test_what_is_no_head_is_not_recognised(other: bytes) -> None:
    reader = RequestHeadReader(SETTINGS)
    reader.read(whole(HOST, AGENT, COOKIE, ACCEPT))
    assert reader.recognise(other) is None


class Note(Memo):
    """What the access log keeps."""

    __slots__ = ()


@pytest.mark.parametrize(
    ("other", "is_kept"),
    [
        (whole(HOST, AGENT, b"Cookie: a=2", ACCEPT), True),
        (whole(HOST, b"User-Agent: y", COOKIE, ACCEPT), False),
        (whole(HOST, AGENT, b"Referer: y", ACCEPT), False),
        (whole(HOST, AGENT, b"X-Request-ID: 1", ACCEPT), False),
        (whole(HOST, COOKIE, ACCEPT), False),
        (whole(b"Host: shop.test", AGENT, COOKIE, ACCEPT), False),
    ],
)
def test_the_note_of_the_access_log_stays_where_it_says_the_same(other: bytes, is_kept: bool) -> None:
    reader = RequestHeadReader(SETTINGS)
    reader.read(whole(HOST, AGENT, COOKIE, ACCEPT)).repeated.logged = Note()
    recognised = reader.recognise(other)
    assert recognised is not None
    assert (recognised.repeated.logged is not None) is is_kept
