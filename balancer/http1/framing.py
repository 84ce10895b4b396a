"""Decides where a message ends: the body framing of requests and responses (RFC 9112 section 6). No I/O.

Strict where RFC 9112 leaves a choice: a message that could be read in two ways is refused and never repaired. A framing
is an int: a length in bytes, or one of the two constants below.
"""

from __future__ import annotations

from collections.abc import Sequence

from balancer.errors import ErrorKind, Refusal
from balancer.http.rules import content_length

CHUNKED = -1
"""The body ends with its last chunk."""
UNTIL_CLOSE = -2
"""The body ends when the connection closes. Only responses may end so (RFC 9112 6.3 rule 8)."""
UNDECIDED = -3
"""No head has come that says where the body ends."""


def request_framing(lengths: Sequence[bytes], codings: Sequence[bytes], *, minor: int) -> int:
    """The framing of a request from its Content-Length and Transfer-Encoding values (RFC 9112 6.3).

    Raises `Refusal(BAD_REQUEST)` for both together, several or malformed lengths, any coding but exactly `chunked`,
    and any coding on HTTP/1.0 (6.1).
    """
    if codings:
        if lengths:
            raise Refusal(ErrorKind.BAD_REQUEST, "Content-Length together with Transfer-Encoding")
        if minor == 0:
            raise Refusal(ErrorKind.BAD_REQUEST, "Transfer-Encoding on HTTP/1.0")
        return _chunked(codings, ErrorKind.BAD_REQUEST)
    return content_length(lengths, ErrorKind.BAD_REQUEST) if lengths else 0


def response_framing(
    lengths: Sequence[bytes], codings: Sequence[bytes], *, minor: int, status: int, request_method: bytes
) -> int:
    """The framing of a response (RFC 9112 6.3). 1xx, 204, 304 and those to HEAD have no body, whatever the fields say.

    Raises `Refusal(INVALID_RESPONSE)` for the ambiguities that `request_framing` refuses.
    """
    if codings and (lengths or minor == 0):
        raise Refusal(ErrorKind.INVALID_RESPONSE, "ambiguous framing of a response")
    framing = UNTIL_CLOSE
    if codings:
        framing = _chunked(codings, ErrorKind.INVALID_RESPONSE)
    elif lengths:
        framing = content_length(lengths, ErrorKind.INVALID_RESPONSE)
    if status < 200 or request_method == b"HEAD" or status in {204, 304}:
        return 0
    return framing


def _chunked(codings: Sequence[bytes], kind: ErrorKind) -> int:
    if len(codings) != 1 or codings[0].lower() != b"chunked":
        raise Refusal(kind, "a transfer coding other than exactly chunked")
    return CHUNKED
