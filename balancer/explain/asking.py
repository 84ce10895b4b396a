"""Makes a question from a URL and header fields: the head of a request that nobody has sent.

The caller passes the reader of real heads, so a request that a client could not send is refused here, too. No I/O.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import Enum
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import quote

from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import RequestHead
from balancer.model.entry_points import HTTP, HTTPS, EntryPoint

_URL = re.compile(r"(https?|tls|tcp)://([^/?#]*)([^#]*)", re.IGNORECASE)
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
# Characters that a client sends unchanged. All others are percent-encoded as UTF-8 (RFC 3986 2.1).
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


_DIGITS = 5  # of a port
_CLIENT_LIMIT = 64  # characters of a wrong address that the error repeats

ReadHead = Callable[[bytes], RequestHead]
"""Makes a request from the bytes of a head, or raises `Refusal`: `RequestHeadReader.read`."""


class BadQuestion(ValueError):
    """No request can have this URL or header field. The text is one line that says what to change."""


class RefusedRequest(BadQuestion):
    """A client can send the request, but it is refused when its head is read. `kind` says how it is answered."""

    def __init__(self, why: str, kind: ErrorKind, *, host: str, path: str) -> None:
        super().__init__(f"such a request is refused: {why}")
        self.kind = kind
        self.host = host
        self.path = path


class UrlScheme(Enum):
    """What a URL asks for. TLS and TCP: a connection without HTTP."""

    HTTP = "http"
    HTTPS = "https"
    TLS = "tls"
    TCP = "tcp"


class Question(NamedTuple):
    """A request, where it comes in, and the client's address, which is empty if unknown.

    `port` is the one that the URL names, or that of its scheme. Entry points of Gateways are chosen by it.
    """

    request: RequestHead
    entry_point: EntryPoint
    client: str = ""
    port: int = HTTP.port
    scheme: UrlScheme = UrlScheme.HTTP

    @property
    def secure(self) -> bool:
        """Whether the request comes over TLS."""
        return self.entry_point.is_secure


def question_of(url: str, fields: Sequence[str] = (), *, read: ReadHead, client: str = "") -> Question:
    """The GET of `url` with `fields`, each `name: value`; one of them may be the Host.

    `client` is the client's IP address, empty if unknown. Raises `BadQuestion`, and `RefusedRequest` if a client that
    sends this is refused.
    """
    if client and not _is_address(client):
        raise BadQuestion(f"give the client as an IP address, such as 203.0.113.7: {client[:_CLIENT_LIMIT]!a} is none")
    match = _URL.fullmatch(url.partition("#")[0])  # a fragment stays with the client
    if match is None or not match[2]:
        raise BadQuestion("give a URL such as http://shop.example/cart")
    pairs = [_pair(field) for field in fields]
    if not any(name.lower() == "host" for name, _ in pairs):
        pairs.insert(0, _pair(f"Host:{match[2]}"))
    try:
        target = quote(match[3] if match[3].startswith("/") else "/" + match[3], safe=_PRINTABLE)
        lines = [f"GET {target} HTTP/1.1", *(f"{name}: {value}" for name, value in pairs), "\r\n"]
        request = read("\r\n".join(lines).encode("latin-1"))
    except UnicodeEncodeError:
        raise BadQuestion("write host and header fields in ASCII, and the path in UTF-8") from None
    except Refusal as refusal:
        raise RefusedRequest(str(refusal), refusal.kind, host=match[2].lower(), path=match[3] or "/") from None
    scheme, port = UrlScheme(match[1].lower()), _port(match[2])
    if scheme is UrlScheme.TCP and not port:
        raise BadQuestion("name the port, such as tcp://db.example:5432")
    entry_point = HTTP if scheme in (UrlScheme.HTTP, UrlScheme.TCP) else HTTPS
    return Question(request, entry_point, client, port or entry_point.port, scheme)


def _port(authority: str) -> int:
    """The port in the authority of a URL; 0 if it names none."""
    digits = authority.rpartition("@")[2].rpartition("]")[2].rpartition(":")[2]
    return int(digits) if ":" in authority and digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS else 0


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _pair(field: str) -> tuple[str, str]:
    name, colon, value = field.partition(":")
    if not colon or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value.strip()):
        raise BadQuestion("give a header field as name:value")
    return name, value.strip()
