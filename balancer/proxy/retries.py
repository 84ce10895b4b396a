"""Whether a failed attempt may be followed by another. No I/O.

The words are those of ingress-nginx' proxy-next-upstream. Nothing sent: any method may go to another endpoint.
Something sent: only a method that is safe to repeat (RFC 9110 9.2.2) or with the word `non_idempotent`, and never once
a body was consumed or a byte of a response went to the client.
"""

from __future__ import annotations

from functools import lru_cache

from balancer.errors import AttemptError, ErrorKind, Sent

Words = tuple[str, ...]
"""What may be retried, by the words of `RoutePolicy.retry_on`; `off` outweighs the others."""

_REPEATABLE = frozenset((b"GET", b"HEAD", b"OPTIONS", b"PUT", b"DELETE", b"PROPFIND", b"REPORT", b"SEARCH"))
_WORDS = {
    ErrorKind.CONNECT_REFUSED: "error",
    ErrorKind.CONNECT_TIMEOUT: "timeout",
    ErrorKind.ENDPOINT_TLS: "error",
    ErrorKind.ENDPOINT_CLOSED: "error",
    ErrorKind.ENDPOINT_TIMEOUT: "timeout",
    ErrorKind.INVALID_RESPONSE: "invalid_header",
}

PASSED_OVER_LEAST = 400
"""No response of a lower status is ever passed over: ingress-nginx knows no word for one."""

FRESH_IDLE_SECONDS = 0.5
"""A method that must not run twice takes only a connection idle for less: an endpoint rarely closes one so young."""


def is_repeatable(method: bytes) -> bool:
    """Whether a request with `method` may be sent again although it may already have been carried out."""
    return method in _REPEATABLE


def may_retry(error: AttemptError, *, method: bytes, on: Words = ("error", "timeout")) -> bool:
    """Whether the request may go to another endpoint after `error`. Limits on tries and time are the caller's."""
    if error.answered or "off" in on or _WORDS.get(error.kind) not in on:
        return False
    if error.sent is Sent.NOTHING:
        return True
    return error.sent is Sent.HEAD and (is_repeatable(method) or "non_idempotent" in on)


def may_pass_over(status: int, *, method: bytes, on: Words) -> bool:
    """Whether a response of `status` may be dropped for that of another endpoint; no body may have been consumed."""
    return status in _statuses(on) and (is_repeatable(method) or "non_idempotent" in on)


def is_stale(error: AttemptError, *, method: bytes, pooled: bool) -> bool:
    """Whether a pooled connection turned out closed by the endpoint, so the same endpoint deserves a fresh one."""
    return (
        pooled
        and not error.answered
        and error.kind is ErrorKind.ENDPOINT_CLOSED
        and error.sent is Sent.HEAD
        and is_repeatable(method)
    )


@lru_cache(maxsize=256)  # asked for every response; there are as many tuples as different annotations
def _statuses(on: Words) -> frozenset[int]:
    words = () if "off" in on else on
    return frozenset(int(word.removeprefix("http_")) for word in words if word.startswith("http_"))
