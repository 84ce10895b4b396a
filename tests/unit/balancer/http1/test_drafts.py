"""The request line, and what the fields that decide say, are read into a draft."""

from __future__ import annotations

import pytest

from balancer.errors import ErrorKind, Refusal
from balancer.http1.drafts import HeadDraft, apply_special, is_ordinary, options_in, read_request_line
from balancer.http1.fieldlines import FieldLineReader, FieldLines

SPECIAL = frozenset((b"host", b"content-length", b"transfer-encoding", b"connection", b"expect", b"upgrade"))


def lines(*texts: bytes) -> FieldLines:
    return FieldLineReader(SPECIAL, ErrorKind.BAD_REQUEST, lambda name: b"\r\n" + name + b": ").read(list(texts))


def read(line: bytes, *fields: bytes) -> HeadDraft:
    draft = HeadDraft()
    read_request_line(line, draft)
    apply_special(draft, lines(*fields), None)
    return draft


def test_a_plain_request_is_ordinary() -> None:
    draft = read(b"GET /a?b HTTP/1.1", b"Host: Shop.test:80", b"Accept: */*")
    assert (draft.method, draft.path, draft.target) == (b"GET", b"/a", b"/a?b")
    assert (draft.authority, draft.host_name, draft.framing) == (b"Shop.test:80", b"shop.test", 0)
    assert is_ordinary(draft)


@pytest.mark.parametrize(
    ("line", "field"),
    [
        (b"GET / HTTP/1.0", b"Accept: */*"),
        (b"GET / HTTP/1.1", b"Connection: close"),
        (b"GET http://shop.test/ HTTP/1.1", b"Accept: */*"),
        (b"GET / HTTP/1.1", b"Connection: upgrade"),
    ],
)
def test_what_depends_on_more_than_the_request_line_is_not_ordinary(line: bytes, field: bytes) -> None:
    assert not is_ordinary(read(line, b"Host: shop.test", field, b"Upgrade: websocket"))


@pytest.mark.parametrize("fields", [(), (b"Host:",), (b"Host: a", b"Host: a")])
def test_the_host_is_there_once(fields: tuple[bytes, ...]) -> None:
    with pytest.raises(Refusal):
        read(b"GET / HTTP/1.1", *fields)


def test_the_absolute_form_names_the_authority() -> None:
    draft = read(b"GET http://Shop.test/a HTTP/1.1", b"Host: other.test")
    assert (draft.authority, draft.host_name, draft.target) == (b"Shop.test", b"shop.test", b"/a")


def test_options_are_in_lower_case() -> None:
    assert options_in([b"Keep-Alive", b"X , y"]) == (b"keep-alive", b"x", b"y")
    assert options_in([]) == ()
