"""Decides whether another attempt may follow a failed one. No I/O.

The words are those of ingress-nginx's proxy-next-upstream. If nothing was sent, every method may go to another
endpoint. If something was sent, only a method that is safe to repeat (RFC 9110 9.2.2), or any with the word
`non_idempotent`. Never after a byte of a response went to the client or a part of the body is gone: an endpoint gets a
whole body or none.
"""

from __future__ import annotations

from functools import lru_cache

from balancer.errors import AttemptError, ErrorKind, Sent
from balancer.proxy.bodies import KEPT_BODY_BYTES

REPEATABLE = frozenset((b"GET", b"HEAD", b"OPTIONS", b"PUT", b"DELETE", b"PROPFIND", b"REPORT", b"SEARCH"))
"""Methods of requests that may be sent again, although the endpoint may already have carried them out."""

Words = tuple[str, ...]
"""What may be retried, by the words of `RoutePolicy.retry_on`; `off` outweighs the others."""

_WORDS = {
    ErrorKind.CONNECT_REFUSED: "error",
    ErrorKind.CONNECT_TIMEOUT: "timeout",
    ErrorKind.ENDPOINT_TLS: "error",
    ErrorKind.ENDPOINT_CLOSED: "error",
    ErrorKind.ENDPOINT_TIMEOUT: "timeout",
    ErrorKind.ENDPOINT_REFUSED: "error",
    ErrorKind.ENDPOINT_SILENT: "timeout",
    ErrorKind.INVALID_RESPONSE: "invalid_header",
}

PASSED_OVER_LEAST = 300
"""No response of a lower status is dropped for another, because ingress-nginx has no word or error page for it."""


def may_retry(error: AttemptError, *, method: bytes, on: Words = ("error", "timeout")) -> bool:
    """Whether the request may go to another endpoint after `error`. The caller checks limits of tries and time."""
    if error.answered or "off" in on or _WORDS.get(error.kind) not in on:
        return False
    if error.sent is Sent.NOTHING:
        return True
    return error.sent is not Sent.BODY and (method in REPEATABLE or "non_idempotent" in on)


def keeps_body(method: bytes, body_bytes: int | None, on: Words, tries: int, refusable: bool = False) -> bool:
    """Whether to keep the body of a request, because the request may be repeated after it was sent.

    `body_bytes` is the length of the body, None while it is unknown. `tries` 0 is unlimited. `refusable`: the endpoint
    can say that it has not processed a request, as in HTTP/2, and then any method is repeated.
    """
    if tries == 1 or "off" in on or (body_bytes is not None and not 0 < body_bytes <= KEPT_BODY_BYTES):
        return False
    return refusable or method in REPEATABLE or "non_idempotent" in on


def may_pass_over(status: int, *, method: bytes, on: Words, codes: tuple[int, ...] = ()) -> bool:
    """Whether a response of `status` may be dropped for that of another endpoint. The whole body must be available.

    The statuses are those in `on` and `codes`.
    """
    return (status in codes or status in _statuses(on)) and (method in REPEATABLE or "non_idempotent" in on)


def is_stale(error: AttemptError, *, method: bytes, pooled: bool) -> bool:
    """Whether the endpoint had already closed a pooled connection, so the same endpoint gets a new connection."""
    return (
        pooled
        and not error.answered
        and error.kind is ErrorKind.ENDPOINT_CLOSED
        and error.sent in (Sent.HEAD, Sent.KEPT_BODY)
        and method in REPEATABLE
    )


def is_unprocessed(error: AttemptError) -> bool:
    """Whether the endpoint has refused the request on one connection, and the whole request can go out on another."""
    return error.kind is ErrorKind.ENDPOINT_REFUSED and error.sent is Sent.NOTHING and not error.answered


@lru_cache(maxsize=256)  # called for every response; there are as many tuples as different annotations
def _statuses(on: Words) -> frozenset[int]:
    words = () if "off" in on else on
    return frozenset(int(word.removeprefix("http_")) for word in words if word.startswith("http_"))
