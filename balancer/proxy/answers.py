"""Makes the proxy's own answers: one table from errors to answers. No I/O.

Answers repeat nothing of the request or the endpoint, and name no version.
"""

from __future__ import annotations

from typing import NamedTuple

from balancer.errors import ErrorKind
from balancer.http import grpc
from balancer.http.messages import Fields, ResponseHead, phrase_of
from balancer.matching.gates.verdicts import Reply


class Answer(NamedTuple):
    """How an error is answered. `status` 499: nothing is sent. `close`: the connection ends after the answer.

    `grpc_status` is what a gRPC call gets, None for what follows from `status`.
    """

    status: int
    close: bool = False
    fields: Fields = ()
    grpc_status: int | None = None


class Response(NamedTuple):
    """A whole response of the proxy: `head`, its fields as they are written, and `body`."""

    head: ResponseHead
    fields: Fields
    body: bytes


_ALLOW = ((b"Allow", b"GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS"),)  # RFC 9110 15.5.6 requires it
_OF_BODIES = (b"content-type", b"content-length")
_WITHOUT_BODY = (204, 304)  # RFC 9110 6.4.1
_RETRY_AFTER = ((b"Retry-After", b"1"),)

# Five kinds are not answered so: PASSED_OVER always has another attempt after it, INTERNAL and UNREAD break off the
# response, AUTH_DENIED has the answer of an auth service, and HOOK_DENIED that of a hook.
ANSWERS = {
    ErrorKind.BAD_REQUEST: Answer(400, close=True),
    ErrorKind.REQUEST_TIMEOUT: Answer(408, close=True),
    ErrorKind.TARGET_TOO_LONG: Answer(414, close=True),
    ErrorKind.HEAD_TOO_LARGE: Answer(431, close=True),
    ErrorKind.BODY_TOO_LARGE: Answer(413, close=True),
    ErrorKind.LOOP: Answer(508, close=True),
    ErrorKind.METHOD_NOT_ALLOWED: Answer(405, close=True, fields=_ALLOW),
    ErrorKind.EXPECTATION_FAILED: Answer(417, close=True),
    ErrorKind.NO_ROUTE: Answer(404),
    ErrorKind.NO_BACKEND: Answer(503),
    ErrorKind.BACKEND_INVALID: Answer(500, grpc_status=grpc.UNAVAILABLE),
    ErrorKind.PATH_CLOSED: Answer(503),
    ErrorKind.SOURCE_DENIED: Answer(403),
    ErrorKind.MISDIRECTED: Answer(421, close=True),
    ErrorKind.CERTIFICATE_REFUSED: Answer(400),
    ErrorKind.CERTIFICATE_DENIED: Answer(403),
    ErrorKind.CLIENT_BLOCKED: Answer(403),
    ErrorKind.UNAUTHORIZED: Answer(401),
    ErrorKind.AUTH_UNAVAILABLE: Answer(500),
    ErrorKind.HOOK_FAILED: Answer(503),
    ErrorKind.RATE_LIMITED: Answer(503),
    ErrorKind.CONNECTIONS_LIMITED: Answer(503),
    ErrorKind.NO_ENDPOINT: Answer(503, fields=_RETRY_AFTER),
    ErrorKind.OVERLOADED: Answer(503, fields=_RETRY_AFTER),
    ErrorKind.CONNECT_REFUSED: Answer(502),
    ErrorKind.CONNECT_TIMEOUT: Answer(504),
    ErrorKind.ENDPOINT_TLS: Answer(502),
    ErrorKind.ENDPOINT_CLOSED: Answer(502),
    ErrorKind.ENDPOINT_TIMEOUT: Answer(504),
    ErrorKind.ENDPOINT_REFUSED: Answer(502),
    ErrorKind.ENDPOINT_SILENT: Answer(504),
    ErrorKind.CALL_TIMEOUT: Answer(504),
    ErrorKind.INVALID_RESPONSE: Answer(502, close=True),
    ErrorKind.CLIENT_LEFT: Answer(499, close=True),
}


def error_response(answer: Answer, *, accept: bytes, head_only: bool, date: bytes) -> Response:
    """A whole response for `answer`: a small HTML body, or JSON when `accept` (the Accept field) asks for it.

    `head_only` leaves the body out (HEAD). `date` is the value of the Date field (RFC 9110 6.6.1).
    """
    phrase = _phrase(answer.status)
    if b"application/json" in accept.lower():
        kind, body = b"application/json", b'{"status":%d,"error":"%b"}\n' % (answer.status, phrase.encode())
    else:
        kind, body = b"text/html", _page(answer.status, phrase)
    return _response(answer.status, answer.fields, kind=kind, body=body, head_only=head_only, date=date)


def reply_response(reply: Reply, *, head_only: bool, date: bytes) -> Response:
    """The whole response of a gate; its fields must already be safe to write."""
    if reply.body is None:
        kind, body = b"text/html", _page(reply.status, _phrase(reply.status))
        return _response(reply.status, reply.fields, kind=kind, body=body, head_only=head_only, date=date)
    return _response(reply.status, reply.fields, kind=b"", body=reply.body, head_only=head_only, date=date)


def grpc_response(response: Response, grpc_status: int) -> Response:
    """The answer to a gRPC call that `response` is to others: 200 without a body, and `grpc_status`.

    The message is the reason phrase, which needs no percent-encoding.
    """
    status = response.head.status
    said = (
        (b"Content-Type", grpc.CONTENT_TYPE),
        (b"Grpc-Status", b"%d" % grpc_status),
        (b"Grpc-Message", phrase_of(status).encode()),
        (b"Content-Length", b"0"),
    )
    kept = tuple(field for field in response.fields if field[0].lower() not in _OF_BODIES)
    return Response(ResponseHead(200, (), 0, b""), kept + said, b"")


def _phrase(status: int) -> str:
    """What a status is called on our pages: as nginx calls 401, because people search for that."""
    return "Authorization Required" if status == 401 else phrase_of(status)


def _page(status: int, phrase: str) -> bytes:
    title = f"{status} {phrase}".rstrip()
    return f"<html><head><title>{title}</title></head><body><center><h1>{title}</h1></center></body></html>\n".encode()


def _response(status: int, fields: Fields, *, kind: bytes, body: bytes, head_only: bool, date: bytes) -> Response:
    said = ((b"Date", date), *(((b"Content-Type", kind),) if kind else ()), *fields)
    # The length of an omitted body is a field like others (RFC 9110 8.6), and so is that of an empty one.
    if head_only or not (body or status in _WITHOUT_BODY):
        return Response(ResponseHead(status, (), 0, b""), (*said, (b"Content-Length", b"%d" % len(body))), b"")
    return Response(ResponseHead(status, (), len(body), b""), said, body)
