"""Finds malformed heads where a library does not (RFC 9113 8.1.1). No I/O."""

from __future__ import annotations

from balancer.errors import Refusal
from balancer.http.messages import Fields
from balancer.http2.fields import MalformedMessage
from balancer.http2.requests import check_request
from balancer.http2.responses import ResponseReader

_BODILESS = (204, 304)


def check_request_head(fields: Fields, ends: bool) -> None:
    """Raises `MalformedMessage`. A request that is well-formed, but refused with an answer, passes."""
    try:
        check_request(fields, ends)
    except MalformedMessage:
        raise
    except Refusal:
        return


def has_body(fields: Fields, method: bytes, ends: bool) -> bool:
    """Whether bytes may follow the head of a response to a request of `method`. Raises `MalformedMessage`."""
    head = ResponseReader().read(fields, method, ends)
    return method != b"HEAD" and head.status not in _BODILESS
