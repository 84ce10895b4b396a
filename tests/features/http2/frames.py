"""Frames and field blocks by hand (RFC 9113 4, RFC 7541), so that anything can be written, also what is wrong.

Shares no code with what it tests. What is received is only read as far as the tests ask.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM = ACK = 0x1
END_HEADERS, PADDED = 0x4, 0x8

_KIND_NAMES = "DATA HEADERS PRIORITY RST_STREAM SETTINGS PUSH_PROMISE PING GOAWAY WINDOW_UPDATE CONTINUATION"
_CODE_NAMES = (
    "NO_ERROR PROTOCOL_ERROR INTERNAL_ERROR FLOW_CONTROL_ERROR SETTINGS_TIMEOUT STREAM_CLOSED FRAME_SIZE_ERROR"
    " REFUSED_STREAM CANCEL COMPRESSION_ERROR CONNECT_ERROR ENHANCE_YOUR_CALM INADEQUATE_SECURITY HTTP_1_1_REQUIRED"
)
KINDS: Final = {name: kind for kind, name in enumerate(_KIND_NAMES.split())}
CODES: Final = {name: code for code, name in enumerate(_CODE_NAMES.split())}
CODE_NAMES: Final = {code: name for name, code in CODES.items()}

_HEADER_BYTES = 9
_STREAM_BITS = 0x7FFFFFFF


class Frame(NamedTuple):
    """One frame as it came."""

    kind: int
    flags: int
    stream: int
    payload: bytes


def frame(kind: int, flags: int, stream: int, payload: bytes = b"", length: int | None = None) -> bytes:
    """A frame; `length` is what its header says if that is not the length of `payload`."""
    size = len(payload) if length is None else length
    return size.to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


def settings(pairs: Sequence[Sequence[int]]) -> bytes:
    """SETTINGS with identifiers and values."""
    return frame(SETTINGS, 0, 0, b"".join(name.to_bytes(2, "big") + value.to_bytes(4, "big") for name, value in pairs))


def taken_apart(data: bytearray) -> Iterator[Frame]:
    """The whole frames at the beginning of `data`, which keeps the rest."""
    while len(data) >= _HEADER_BYTES:
        size = int.from_bytes(data[:3], "big")
        if len(data) < _HEADER_BYTES + size:
            return
        stream = int.from_bytes(data[5:9], "big") & _STREAM_BITS
        yield Frame(data[3], data[4], stream, bytes(data[_HEADER_BYTES : _HEADER_BYTES + size]))
        del data[: _HEADER_BYTES + size]


def without_padding(each: Frame) -> bytes:
    """The payload of DATA or HEADERS without padding and priority."""
    payload = each.payload
    if each.flags & PADDED:
        payload = payload[1 : len(payload) - payload[0]]
    return payload[5:] if each.kind == HEADERS and each.flags & 0x20 else payload


def number(value: int, prefix_bits: int, first: int) -> bytes:
    """An integer with a prefix (RFC 7541 5.1)."""
    most = (1 << prefix_bits) - 1
    if value < most:
        return bytes((first | value,))
    parts, value = [first | most], value - most
    while value >= 128:
        parts.append(value % 128 + 128)
        value //= 128
    return bytes((*parts, value))


def text(value: bytes) -> bytes:
    """A string that is not Huffman-coded (RFC 7541 5.2)."""
    return number(len(value), 7, 0) + value


def literal(name: bytes, value: bytes, first: int = 0x00) -> bytes:
    """A field with its name spelled out: 0x00 is not indexed, 0x10 never, 0x40 is put into the table."""
    return bytes((first,)) + text(name) + text(value)
