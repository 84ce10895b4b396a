"""What a request must keep to in every HTTP version, whichever bytes it came in. No I/O."""

from __future__ import annotations

import re
from collections.abc import Sequence

from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import Field
from balancer.http.target import matchable_path

_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TARGET = re.compile(rb"[\x21-\x7e\x80-\xff]+")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_HOPS_DIGITS_MAX = 9  # a longer Max-Forwards never gets to zero
_LENGTH_DIGITS_MAX = 18  # 10**18 - 1 fits in 64 bits in every endpoint's language; real bodies need 13


def target_onward(method: bytes, target: bytes) -> bytes:
    """`target` as it goes on: the same object, or with its bytes above ASCII percent-encoded (RFC 3986 2.1).

    Raises `Refusal(BAD_REQUEST)` for a target with spaces or control characters, or none, and for a method that is no
    token (RFC 9110 9.1).
    """
    if not _TARGET.fullmatch(target) or not _TOKEN.fullmatch(method):
        raise Refusal(ErrorKind.BAD_REQUEST, "a malformed method or target")
    return target if target.isascii() else _NOT_ASCII.sub(lambda match: b"%%%02X" % match[0][0], target)


def path_of(method: bytes, target: bytes) -> bytes | None:
    """The path by which `target` is matched, or None if it has neither the origin nor the asterisk form (RFC 9112 3.2).

    Raises `Refusal(BAD_REQUEST)` as `matchable_path` does.
    """
    if target[:1] == b"/":
        return matchable_path(target)
    return b"/" if target == b"*" and method == b"OPTIONS" else None


def check_method(method: bytes) -> None:
    """Raises `Refusal(METHOD_NOT_ALLOWED)` for CONNECT and TRACE."""
    if method in (b"CONNECT", b"TRACE"):
        raise Refusal(ErrorKind.METHOD_NOT_ALLOWED, "CONNECT and TRACE are not served")


def expects_continue(values: Sequence[bytes]) -> bool:
    """Whether the values of Expect ask for a 100 (RFC 9110 10.1.1). Raises `Refusal` for any other expectation."""
    expectations = members(values)
    if any(expectation not in (b"", b"100-continue") for expectation in expectations):
        raise Refusal(ErrorKind.EXPECTATION_FAILED, "an expectation other than 100-continue")
    return b"100-continue" in expectations


def forwarded_once_more(field: Field) -> Field:
    """A field of an OPTIONS as it goes on: its Max-Forwards counts down (RFC 9110 7.6.2).

    Raises `Refusal(METHOD_NOT_ALLOWED)` where that is at zero, because the request ends here.
    """
    name, value = field
    if name != b"max-forwards" or not value.isdigit() or len(value) > _HOPS_DIGITS_MAX:
        return field
    if int(value) == 0:
        raise Refusal(ErrorKind.METHOD_NOT_ALLOWED, "an OPTIONS for the proxy itself")
    return name, b"%d" % (int(value) - 1)


def content_length(values: Sequence[bytes], kind: ErrorKind) -> int:
    """The length that the values of Content-Length say, in bytes.

    Raises `Refusal(kind)` for more than one value, and for one that is not 1 to 18 digits (RFC 9110 8.6).
    """
    text = values[0]
    # isdigit of bytes is ASCII only: no sign, no underscore, no Unicode digit that int() would take
    if len(values) != 1 or not text.isdigit() or len(text) > _LENGTH_DIGITS_MAX:
        raise Refusal(kind, "a repeated or malformed Content-Length")
    return int(text)


def members(values: Sequence[bytes]) -> tuple[bytes, ...]:
    """The members of a list of tokens in lower case, over all its fields; some may be empty (RFC 9110 5.6.1)."""
    return tuple(member.strip(b" \t").lower() for value in values for member in value.split(b","))
