"""What the proxy knows of gRPC: which requests are calls, how long they may take, and their statuses. No I/O.

gRPC is what its endpoints and clients speak over HTTP/2; messages pass unread. Sources: grpc/doc/PROTOCOL-HTTP2.md,
statuscodes.md, http-grpc-status-mapping.md.
"""

from __future__ import annotations

import re

from balancer.http.messages import HTTP_2_0, Fields, RequestHead, field_value

CONTENT_TYPE = b"application/grpc"
OK, UNKNOWN, DEADLINE_EXCEEDED, PERMISSION_DENIED, RESOURCE_EXHAUSTED = 0, 2, 4, 7, 8
UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED = 12, 13, 14, 15, 16

_STATUS = re.compile(rb"0|[1-9][0-9]{0,2}")
_OWN_STATUSES = {b"%d" % status: status for status in range(UNAUTHENTICATED + 1)}  # those of gRPC itself
_TIMEOUT = re.compile(rb"([0-9]{1,8})([HMSmun])")
_UNIT_SECONDS = {b"H": 3600.0, b"M": 60.0, b"S": 1.0, b"m": 1e-3, b"u": 1e-6, b"n": 1e-9}

# gRPC's own mapping, but for statuses of which the proxy knows more: it is the proxy that gives these answers.
_STATUSES = {
    400: INTERNAL,
    401: UNAUTHENTICATED,
    403: PERMISSION_DENIED,
    404: UNIMPLEMENTED,
    405: UNIMPLEMENTED,
    413: RESOURCE_EXHAUSTED,
    414: RESOURCE_EXHAUSTED,
    429: RESOURCE_EXHAUSTED,
    431: RESOURCE_EXHAUSTED,
    500: INTERNAL,
    502: UNAVAILABLE,
    503: UNAVAILABLE,
    504: DEADLINE_EXCEEDED,
}


def is_call(fields: Fields) -> bool:
    """Whether a request with these fields is a gRPC call: its content type is application/grpc, or one with a suffix.

    Not application/grpc-web, which is another protocol.
    """
    kind = field_value(fields, b"content-type")
    if kind is None or not kind.startswith(CONTENT_TYPE):
        return False
    return len(kind) == len(CONTENT_TYPE) or kind[len(CONTENT_TYPE) :][:1] in (b"+", b";")


def is_call_in_http2(request: RequestHead) -> bool:
    """Whether a request is a call that came in HTTP/2. Nothing else carries the trailers and the streams of calls."""
    return request.protocol == HTTP_2_0 and is_call(request.fields)


def status_in(fields: Fields) -> int | None:
    """The grpc-status among the trailers of a response, or in a head that is the whole response; None without one."""
    value = field_value(fields, b"grpc-status")
    if value is None:
        return None
    known = _OWN_STATUSES.get(value)
    if known is None and _STATUS.fullmatch(value):
        return int(value)
    return known


def status_for(http_status: int) -> int:
    """The gRPC status of an answer of the proxy that would have `http_status` over plain HTTP."""
    return _STATUSES.get(http_status, UNKNOWN)


def timeout_seconds(fields: Fields) -> float | None:
    """How long the client waits for the whole call; None if it does not say so in the way of the protocol."""
    value = field_value(fields, b"grpc-timeout")
    match = None if value is None else _TIMEOUT.fullmatch(value)
    return None if match is None else int(match[1]) * _UNIT_SECONDS[match[2]]
