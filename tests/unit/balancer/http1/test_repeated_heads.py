"""A request head that repeats the last one, or its request line, means what it would mean on a fresh connection."""

from __future__ import annotations

import pytest

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
