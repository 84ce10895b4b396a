"""Reads values in DER (X.690) as far as needed to judge them before a library of cryptography does.

Reads one level at a time and copies nothing that was not asked for. It must not know what the values mean.
"""

from __future__ import annotations

from typing import NamedTuple

INTEGER, BIT_STRING, OCTET_STRING, OBJECT, SEQUENCE = 0x02, 0x03, 0x04, 0x06, 0x30
_MEMBERS_MOST = 16
"""No sequence that is read here has more than ten."""
_LENGTH_BYTES_MOST = 4


class MalformedDer(ValueError):
    """The bytes are not DER of the expected form."""


class Value(NamedTuple):
    """One value: its tag and its content."""

    tag: int
    content: bytes


def only(data: bytes, tag: int) -> bytes:
    """The content of the value that fills `data` and has this tag. Raises `MalformedDer`."""
    value, end = _value(data, 0)
    if value.tag != tag or end != len(data):
        raise MalformedDer("another value than expected")
    return value.content


def members(content: bytes) -> list[Value]:
    """The values that fill the content of a sequence. Raises `MalformedDer`."""
    found: list[Value] = []
    at = 0
    while at < len(content):
        value, at = _value(content, at)
        found.append(value)
        if len(found) > _MEMBERS_MOST:
            raise MalformedDer("too many values")
    return found


def integer(value: Value, bits_most: int) -> int:
    """A number that is not negative. One of more than `bits_most` bits is not even read. Raises `MalformedDer`."""
    content = value.content
    if value.tag != INTEGER or not content or content[0] & 0x80:
        raise MalformedDer("no number")
    if len(content) > bits_most // 8 + 1:
        raise MalformedDer("too large a number")
    return int.from_bytes(content, "big")


def _value(data: bytes, at: int) -> tuple[Value, int]:
    """The value that begins at `at`, and where it ends."""
    head = data[at : at + 2]
    if len(head) < 2 or head[0] & 0x1F == 0x1F:
        raise MalformedDer("no value")
    start, length = at + 2, head[1]
    if length & 0x80:
        size = length & 0x7F
        if not 0 < size <= _LENGTH_BYTES_MOST:
            raise MalformedDer("no length")
        length = int.from_bytes(data[start : start + size], "big")
        start += size
    end = start + length
    if end > len(data):
        raise MalformedDer("a value ends too early")
    return Value(head[0], data[start:end]), end
