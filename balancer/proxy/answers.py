"""What the proxy itself says to a client: one table from errors to answers. No I/O.

Nothing of the request and nothing of the endpoint is echoed, and no version is told.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import NamedTuple

from balancer.errors import ErrorKind


class Answer(NamedTuple):
    """How an error is answered. `status` 499: nothing is sent. `close`: the connection ends with it."""

    status: int
    close: bool = False
    fields: bytes = b""


_ALLOW = b"Allow: GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS\r\n"  # RFC 9110 15.5.6 asks for it

# Two kinds are never answered: PASSED_OVER always has another attempt after it, INTERNAL cuts the connection.
ANSWERS = {
    ErrorKind.BAD_REQUEST: Answer(400, close=True),
    ErrorKind.REQUEST_TIMEOUT: Answer(408, close=True),
    ErrorKind.TARGET_TOO_LONG: Answer(414, close=True),
    ErrorKind.HEAD_TOO_LARGE: Answer(431, close=True),
    ErrorKind.BODY_TOO_LARGE: Answer(413, close=True),
    ErrorKind.METHOD_NOT_ALLOWED: Answer(405, close=True, fields=_ALLOW),
    ErrorKind.NO_ROUTE: Answer(404),
    ErrorKind.NO_BACKEND: Answer(503),
    ErrorKind.NO_ENDPOINT: Answer(503, fields=b"Retry-After: 1\r\n"),
    ErrorKind.OVERLOADED: Answer(503, fields=b"Retry-After: 1\r\n"),
    ErrorKind.CONNECT_REFUSED: Answer(502),
    ErrorKind.CONNECT_TIMEOUT: Answer(504),
    ErrorKind.ENDPOINT_TLS: Answer(502),
    ErrorKind.ENDPOINT_CLOSED: Answer(502),
    ErrorKind.ENDPOINT_TIMEOUT: Answer(504),
    ErrorKind.INVALID_RESPONSE: Answer(502, close=True),
    ErrorKind.CLIENT_LEFT: Answer(499, close=True),
}


def error_response(answer: Answer, *, accept: bytes, head_only: bool, keep_alive: bool, date: bytes) -> bytes:
    """A whole response for `answer`: a small HTML body, or JSON when `accept` (the Accept field) asks for it.

    `head_only` leaves the body out (HEAD); `date` is the value of the Date field (RFC 9110 6.6.1).
    """
    phrase = HTTPStatus(answer.status).phrase
    if b"application/json" in accept.lower():
        kind, body = b"application/json", b'{"status":%d,"error":"%b"}\n' % (answer.status, phrase.encode())
    else:
        kind, body = b"text/html", _page(answer.status, phrase)
    return _response(
        answer.status, phrase, kind=kind, body=body, head_only=head_only, keep_alive=keep_alive, date=date,
        fields=answer.fields,
    )  # fmt: skip


def redirect_response(location: bytes, *, head_only: bool, keep_alive: bool, date: bytes) -> bytes:
    """308 Permanent Redirect to `location`, which must already be safe to write (the http-redirect-code default)."""
    return _response(
        308, "Permanent Redirect", kind=b"text/html", body=_page(308, "Permanent Redirect"), head_only=head_only,
        keep_alive=keep_alive, date=date, fields=b"Location: %b\r\n" % location,
    )  # fmt: skip


def https_location(*, host_name: bytes, target: bytes) -> bytes:
    """Where a plain request is redirected: the same target over https, without port and one trailing slash.

    As ingress-nginx (`preserve-trailing-slash` off): the slash is taken from the end of the whole target's path.
    """
    path, mark, query = target.partition(b"?")
    if path.endswith(b"/"):
        path = path[:-1]
    return b"https://" + host_name + path + mark + query


def _page(status: int, phrase: str) -> bytes:
    title = f"{status} {phrase}"
    return f"<html><head><title>{title}</title></head><body><center><h1>{title}</h1></center></body></html>\n".encode()


def _response(
    status: int, phrase: str, *, kind: bytes, body: bytes, head_only: bool, keep_alive: bool, date: bytes, fields: bytes
) -> bytes:
    return b"HTTP/1.1 %d %b\r\nDate: %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n%b%b\r\n%b" % (
        status,
        phrase.encode(),
        date,
        kind,
        len(body),
        fields,
        b"" if keep_alive else b"Connection: close\r\n",
        b"" if head_only else body,
    )
