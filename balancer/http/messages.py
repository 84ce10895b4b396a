"""Requests and responses as every HTTP version carries them (RFC 9110 section 6): what matching, picking and logs read.

Heads are immutable, because one head may serve many requests: a connection hands on what it read before. Fields that
the proxy adds travel beside a head and are never put into it.
"""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from balancer.http.memos import Memo, Remembering

Field = tuple[bytes, bytes]
"""Name and value, without white space around the value.

Names are in lower case in a head that was read. The name of an added field is spelled as HTTP/1.1 writes it.
"""

Fields = tuple[Field, ...]
"""Fields in their order; a name may occur several times."""

Trailers = Fields
"""Fields that follow a body (RFC 9110 section 6.5)."""

_PHRASES = {status.value: status.phrase for status in HTTPStatus}

HTTP_1_0 = "HTTP/1.0"
HTTP_1_1 = "HTTP/1.1"
HTTP_2_0 = "HTTP/2.0"


LOGGED_FIELDS = frozenset((b"user-agent", b"referer", b"traceparent"))
"""The fields of requests of which the access log says more than whether X-Request-ID is there."""


class Repeated(Remembering):
    """What requests with the same authority and the same fields have in common.

    Everything here is computed from authority and fields, so nothing of one request reaches another. `request_id` is
    the client's X-Request-ID, or None. `connection_options` are those of its Connection, in lower case. Memos hold the
    fields as endpoints get them. `logged` is the memo of the access log, which depends on the authority,
    `LOGGED_FIELDS` and X-Request-ID alone.
    """

    __slots__ = ("connection_options", "logged", "request_id")

    def __init__(self, fields: Fields) -> None:
        self.request_id = field_value(fields, b"x-request-id")
        self.connection_options: tuple[bytes, ...] = ()
        self.memo: Memo | None = None
        self.logged: Memo | None = None


class RequestHead(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A valid request head.

    `authority` is the Host as the client wrote it, empty if there is none. `host_name` is the authority in lower case,
    without port and trailing dot. `path` is normalised for matching, `target` goes on to the endpoint and `raw_target`
    is what the client sent. `body_bytes` is None where the length is known only at the end of the body, and 0 without
    a body. `upgrade` is the protocol that the client asks for, empty if there is none. `protocol` is the version as
    logs show it. `head_bytes` is the size of the head on the wire.
    """

    method: bytes
    authority: bytes
    host_name: bytes
    path: bytes
    target: bytes
    raw_target: bytes
    fields: Fields
    body_bytes: int | None
    expects_continue: bool
    upgrade: bytes
    protocol: str
    head_bytes: int
    repeated: Repeated


class Written(Remembering):
    """How a response head went to clients: memos hold it as the last client of each version got it."""

    __slots__ = ()

    def __init__(self) -> None:
        self.memo: Memo | None = None


class ResponseHead(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A valid response head from an endpoint.

    `body_bytes` is None where the length is known only at the end of the body, and 0 without a body. `upgrade` is the
    protocol that the endpoint switches to or requires, empty if there is none. `connection_options` are those of its
    Connection, in lower case.
    """

    status: int
    fields: Fields
    body_bytes: int | None
    upgrade: bytes
    connection_options: tuple[bytes, ...] = ()
    written: Written = msgspec.field(default_factory=Written)


def phrase_of(status: int) -> str:
    """The reason phrase of a status (RFC 9110 15); empty for a status without one."""
    return _PHRASES.get(status, "")


def field_value(fields: Fields, name: bytes) -> bytes | None:
    """The first value of a field by its lower-case name, or None."""
    for each, value in fields:
        if each == name:
            return value
    return None


def may_upgrade(request: RequestHead, protocols: tuple[str, ...]) -> bool:
    """Whether the upgrade that a request asks for may be offered to the endpoint (RFC 9110 7.8).

    Only for a request without a body and with exactly one token that is listed in `protocols`, and never h2c, because
    bytes after a head that proxy and endpoint read differently would be smuggled.
    """
    if request.protocol != HTTP_1_1 or request.body_bytes != 0:
        return False
    token = request.upgrade.lower()
    return token != b"h2c" and token.decode("latin-1") in protocols
