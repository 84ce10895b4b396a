"""Writes heads: which fields go on, which are removed, which the proxy adds. No I/O.

Hop-by-hop fields end here (RFC 9110 7.6.1). Nothing that a client says about itself is believed: its X-Forwarded-*
and Forwarded fields are replaced or removed, so an endpoint may trust what it reads.
"""

from __future__ import annotations

from functools import lru_cache

from balancer.http1.framing import CHUNKED, UNTIL_CLOSE
from balancer.http1.heads import Field, RequestHead, ResponseHead

# Never passed on to an endpoint: hop-by-hop, or said by us instead. Keys in lower case.
_NOT_FOR_ENDPOINTS = frozenset(
    (
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"http2-settings",
        b"proxy",  # httpoxy, CVE-2016-5385
        b"forwarded",
        b"x-real-ip",
        b"x-forwarded-proto",
        b"x-forwarded-port",
        b"x-forwarded-scheme",
        b"x-scheme",
        b"x-original-forwarded-for",
        b"x-original-forwarded-host",
        b"ssl-client-verify",
        b"ssl-client-cert",
        b"ssl-client-subject-dn",
        b"ssl-client-issuer-dn",
        b"x-ssl-client-verify",
        b"x-ssl-client-cert",
        b"x-forwarded-client-cert",
        b"x-original-url",  # some frameworks route by these two instead of by the target
        b"x-rewrite-url",
    )
)
_RENAMED = {
    b"x-forwarded-for": b"X-Original-Forwarded-For",
    b"x-forwarded-host": b"X-Original-Forwarded-Host",
}
# The names that clients use are few. The longest have 8 KiB and are held twice: nobody can make this hold over 4 MiB.
_NAMES_REMEMBERED_MAX = 256
_BODILESS = frozenset((b"GET", b"HEAD", b"DELETE", b"OPTIONS"))
_HSTS = b"strict-transport-security"
_NOT_FOR_CLIENTS = frozenset((b"keep-alive", b"proxy-connection", _HSTS))

# End-to-end fields that a Connection field must not be able to remove (CVE-2021-32813, CVE-2024-45410).
_PROTECTED = frozenset(
    (b"host", b"content-length", b"transfer-encoding", b"x-request-id", b"authorization", b"cookie", b"accept")
)
# With `_` for `-` they are the same variable to CGI, WSGI and their kin: no way around what only we may say.
_NOT_WITH_UNDERSCORES = _NOT_FOR_ENDPOINTS | _RENAMED.keys() | _PROTECTED


class ForwardedFields:
    """The fields about the client that are the same for every request of one connection, written once."""

    __slots__ = ("block",)

    def __init__(self, *, peer: str, secure: bool) -> None:
        """`peer` is the client's address without port; `secure` says that the connection is TLS."""
        address = peer.encode("ascii", "replace")
        scheme, port = (b"https", b"443") if secure else (b"http", b"80")
        self.block = (
            b"X-Real-IP: %b\r\nX-Forwarded-For: %b\r\nX-Forwarded-Port: %b\r\n"
            b"X-Forwarded-Proto: %b\r\nX-Forwarded-Scheme: %b\r\nX-Scheme: %b\r\n"
        ) % (address, address, port, scheme, scheme, scheme)


def may_upgrade(request: RequestHead, protocols: tuple[str, ...]) -> bool:
    """Whether the upgrade that a request asks for may be offered to the endpoint (RFC 9110 7.8).

    Only for a request without a body and with exactly one token, listed in `protocols`, and never h2c: what follows a
    head that a proxy and an endpoint read differently would be smuggled.
    """
    token = request.upgrade.lower()
    return request.minor == 1 and request.framing == 0 and token != b"h2c" and token.decode("latin-1") in protocols


def endpoint_request_head(
    request: RequestHead,
    *,
    forwarded: ForwardedFields,
    request_id: bytes | None,
    underscores: bool,
    host: str | None = None,
) -> bytes:
    """The head that goes to the endpoint, ending in the empty line.

    `request_id` is used unless the client sent one (behaviour of ingress-nginx); None adds none. `underscores` keeps
    names that hold `_`, but those that an endpoint could take for one that only the proxy may say; names that hold
    `.` never go on. The framing is
    written anew, so it is unambiguous whatever the client wrote. `host` replaces the client's Host. An upgrade that
    the request still names is offered.
    """
    method = request.method
    known = request.repeated.onward
    _, lines, names_request_id = (
        known if known is not None and known[0] is underscores else _lines_onward(request, underscores=underscores)
    )
    head = b"%b %b HTTP/1.1\r\nHost: %b\r\n%b%b%b" % (
        method,
        request.target,
        host.encode() if host else request.host,
        forwarded.block,
        lines,
        b"X-Request-ID: %b\r\n" % request_id if request_id is not None and not names_request_id else b"",
    )
    if request.framing or method not in _BODILESS:
        head += _framing_field(request.framing, method)
    if request.expects_continue:
        head += b"Expect: 100-continue\r\n"
    if request.upgrade:
        head += b"Connection: Upgrade\r\nUpgrade: %b\r\n" % request.upgrade
    return head + b"\r\n"


def _lines_onward(request: RequestHead, *, underscores: bool) -> tuple[bool, bytes, bool]:
    """`underscores`, the client's fields as the endpoint gets them, and whether X-Request-ID is among them.

    It is remembered with the fields.
    """
    parts = [b"X-Forwarded-Host: ", request.host]
    names_request_id = False
    nominated = frozenset(request.connection_options) - _PROTECTED
    for name, lower, value in request.fields:
        beginning = _beginning_onward(name, underscores)
        if not beginning or lower in nominated:
            continue
        if lower == b"x-request-id":
            names_request_id = True
        parts += (beginning, value)
    parts.append(b"\r\n")
    onward = request.repeated.onward = underscores, b"".join(parts), names_request_id
    return onward


@lru_cache(_NAMES_REMEMBERED_MAX)
def _beginning_onward(name: bytes, underscores: bool) -> bytes:
    """The end of the line before and what goes before the value of a field called `name`; empty if it ends here."""
    lower = name.lower()
    if lower in _NOT_FOR_ENDPOINTS:
        return b""
    if b"_" in lower and (not underscores or lower.replace(b"_", b"-") in _NOT_WITH_UNDERSCORES):
        return b""
    if b"." in lower:  # invalid to nginx too; PHP and its kin read it as `_`
        return b""
    return b"\r\n%b: " % _RENAMED.get(lower, name)


def _framing_field(framing: int, method: bytes) -> bytes:
    if framing == CHUNKED:
        return b"Transfer-Encoding: chunked\r\n"
    if framing > 0 or method in (b"POST", b"PUT", b"PATCH"):
        return b"Content-Length: %d\r\n" % framing
    return b""


def client_response_head(
    response: ResponseHead,
    *,
    client_minor: int,
    chunked: bool,
    keep_alive: bool,
    hsts: bytes | None,
    set_cookie: bytes = b"",
) -> bytes:
    """The head that goes to the client, ending in the empty line.

    `chunked`: the body is sent in chunks, whatever coding it came in. `keep_alive`: the connection goes on after it.
    `hsts` replaces the endpoint's Strict-Transport-Security; None passes the endpoint's own. `set_cookie` is a whole
    field with its line end, beside those of the endpoint.
    """
    depends_on = (client_minor, chunked, keep_alive, hsts, set_cookie)
    if response.onward is not None and response.onward[0] == depends_on:
        return response.onward[1]
    parts = [b"HTTP/1.1 %d %b\r\n" % (response.status, response.reason), *_lines_to_client(response, hsts)]
    if chunked:
        parts.append(b"Transfer-Encoding: chunked\r\n")
    elif response.framing > 0:
        parts.append(b"Content-Length: %d\r\n" % response.framing)
    if hsts is not None:
        parts.append(b"Strict-Transport-Security: %b\r\n" % hsts)
    parts.append(set_cookie)
    if response.status == 426 and response.upgrade:
        parts.append(b"Upgrade: %b\r\n" % response.upgrade)  # RFC 9110 15.5.22: it must say which
    if not keep_alive:
        parts.append(b"Connection: close\r\n")
    elif client_minor == 0:
        parts.append(b"Connection: keep-alive\r\n")
    parts.append(b"\r\n")
    head = b"".join(parts)
    response.onward = depends_on, head
    return head


def _lines_to_client(response: ResponseHead, hsts: bytes | None) -> list[bytes]:
    nominated = frozenset(response.connection_options)
    return [
        b"%b: %b\r\n" % (name, value)
        for name, lower, value in response.fields
        if not (lower in _NOT_FOR_CLIENTS and (lower != _HSTS or hsts is not None))
        and not (nominated and lower in nominated and lower not in _PROTECTED)
    ]


def switching_response(response: ResponseHead, set_cookie: bytes = b"") -> bytes:
    """The 101 of an endpoint as it goes on to the client: with it both connections become a tunnel."""
    fields = b"".join(
        b"%b: %b\r\n" % (name, value) for name, lower, value in response.fields if lower not in _NOT_FOR_CLIENTS
    )
    return b"HTTP/1.1 101 %b\r\nConnection: Upgrade\r\nUpgrade: %b\r\n%b%b\r\n" % (
        response.reason,
        response.upgrade,
        fields,
        set_cookie,
    )


def interim_response(response: ResponseHead) -> bytes:
    """A 1xx response as it goes on to the client (RFC 9110 15.2)."""
    nominated = frozenset(response.connection_options)
    fields = b"".join(
        b"%b: %b\r\n" % (name, value)
        for name, lower, value in response.fields
        if lower not in _NOT_FOR_CLIENTS and lower not in nominated
    )
    return b"HTTP/1.1 %d %b\r\n%b\r\n" % (response.status, response.reason, fields)


def field_value(fields: list[Field], name: bytes) -> bytes | None:
    """The first value of a field by its lower-case name, or None."""
    for _, lower, value in fields:
        if lower == name:
            return value
    return None


def must_chunk(framing: int, *, client_minor: int) -> bool:
    """Whether the body goes to the client in chunks: its length is unknown and the client speaks HTTP/1.1."""
    return framing in (CHUNKED, UNTIL_CLOSE) and client_minor == 1
