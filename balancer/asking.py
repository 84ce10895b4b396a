"""A question about a request that nobody has sent: a URL and header fields, as the head that a client would send.

Read by the reader of real heads, so that what a client would be refused is refused here. No I/O.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

from balancer.errors import Refusal
from balancer.http1.heads import RequestHead, RequestHeadReader
from balancer.model import ProxySettings

_URL = re.compile(r"(https?)://([^/?#]*)([^#]*)", re.IGNORECASE)
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
# What a client sends as it is; the rest it percent-encodes as UTF-8 (RFC 3986 2.1).
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


class BadQuestion(ValueError):
    """A URL or header field that no request can have; the text is one line that says what to change."""


class Question(NamedTuple):
    """A request, whether it comes over TLS, and the client's address, empty if it is not known."""

    request: RequestHead
    secure: bool
    client: str = ""


def question_of(
    url: str, fields: Sequence[str] = (), *, settings: ProxySettings | None = None, client: str = ""
) -> Question:
    """The GET of `url` with `fields`, each `name: value`; one of them may be the Host. Raises `BadQuestion`."""
    match = _URL.fullmatch(url.partition("#")[0])  # a fragment stays with the client
    if match is None or not match[2]:
        raise BadQuestion("give a URL such as http://shop.example/cart")
    pairs = [_pair(field) for field in fields]
    if not any(name.lower() == "host" for name, _ in pairs):
        pairs.insert(0, _pair(f"Host:{match[2]}"))
    try:
        target = quote(match[3] if match[3].startswith("/") else "/" + match[3], safe=_PRINTABLE)
        lines = [f"GET {target} HTTP/1.1", *(f"{name}: {value}" for name, value in pairs), "\r\n"]
        request = RequestHeadReader(settings or ProxySettings()).read("\r\n".join(lines).encode("latin-1"))
    except UnicodeEncodeError:
        raise BadQuestion("write host and header fields in ASCII, and the path in UTF-8") from None
    except Refusal as refusal:
        raise BadQuestion(f"such a request is refused: {refusal}") from None
    return Question(request, match[1].lower() == "https", client)


def _pair(field: str) -> tuple[str, str]:
    name, colon, value = field.partition(":")
    if not colon or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value.strip()):
        raise BadQuestion("give a header field as name:value")
    return name, value.strip()
