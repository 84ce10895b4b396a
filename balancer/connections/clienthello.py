"""Reads the first message of TLS as far as needed before OpenSSL does: the protocols and the name of the client.

Python's ssl continues without a common protocol, although RFC 7301 3.2 demands a refused handshake. Only reads: a
malformed message offers nothing here, and OpenSSL refuses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

NO_APPLICATION_PROTOCOL: Final = b"\x15\x03\x03\x00\x02\x02\x78"
"""The fatal alert of RFC 7301 3.2, as a record before keys are agreed on."""

RECORD_BYTES_MAX: Final = 5 + 2**14
"""The longest record with its header (RFC 8446 5.1). A longer ClientHello is left to OpenSSL."""

_HEADER_BYTES = 5
_HANDSHAKE, _CLIENT_HELLO, _ALPN = 22, 1, 16
_ALPN_BYTES = _ALPN.to_bytes(2, "big")
_SERVER_NAME, _HOST_NAME = 0, 0
_HTTP, _HTTP2 = b"\x08http/1.1", b"\x02h2"


class Hello(NamedTuple):
    """What is known of a ClientHello: how many bytes are needed to know it, and the offered protocols, if any.

    If HTTP/1.1 seems to be one of them, and HTTP/2 cannot be, the others are not reported.
    """

    needs_bytes: int
    protocols: tuple[bytes, ...] = ()


def read_hello(data: bytes) -> Hello:
    """What the first bytes of a connection say. With fewer than `needs_bytes`, ask again with more."""
    if len(data) < _HEADER_BYTES:
        return Hello(_HEADER_BYTES if data[:1] in (b"", bytes([_HANDSHAKE])) else 0)
    size = int.from_bytes(data[3:5], "big")
    if data[0] != _HANDSHAKE or _HEADER_BYTES + size > RECORD_BYTES_MAX:
        return Hello(0)
    if len(data) < _HEADER_BYTES + size:
        return Hello(_HEADER_BYTES + size)
    message = data[_HEADER_BYTES : _HEADER_BYTES + size]
    if _HTTP in message and _HTTP2 not in message:  # most ClientHellos are decided without reading them field by field
        return Hello(_HEADER_BYTES + size, (b"http/1.1",))
    return Hello(_HEADER_BYTES + size, _protocols(message) if _ALPN_BYTES in message else ())


def server_name(data: bytes) -> str | None:
    """The host name that the first record of a connection asks for (RFC 6066 3); None without one.

    A ClientHello that is not whole, or in several records, asks for none.
    """
    size = int.from_bytes(data[3:5], "big")
    message = data[_HEADER_BYTES : _HEADER_BYTES + size]
    if data[:1] != bytes([_HANDSHAKE]) or len(message) < size:
        return None
    try:
        for kind, content in _extensions(_Bytes(message)):
            if kind == _SERVER_NAME:
                names = _Bytes(_Bytes(content).vector(2))
                return names.vector(2).decode("ascii") if names.number(1) == _HOST_NAME else None
    except (IndexError, UnicodeDecodeError):
        return None
    return None


def _protocols(message: bytes) -> tuple[bytes, ...]:
    try:
        return _offered(_Bytes(message))
    except IndexError:
        return ()


def _offered(message: _Bytes) -> tuple[bytes, ...]:
    """RFC 8446 4.1.2 and RFC 7301 3.1. Raises IndexError if the message contradicts its own lengths."""
    for kind, content in _extensions(message):
        if kind == _ALPN:
            names, protocols = _Bytes(_Bytes(content).vector(2)), list[bytes]()
            while names.left:
                protocols.append(names.vector(1))
            return tuple(protocols)
    return ()


def _extensions(message: _Bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and content of each extension of a ClientHello; none of another message."""
    if message.number(1) != _CLIENT_HELLO:
        return
    hello = _Bytes(message.vector(3))
    hello.take(2 + 32)  # version and random
    for length_bytes in (1, 2, 1):  # session id, cipher suites, compression methods
        hello.vector(length_bytes)
    extensions = _Bytes(hello.vector(2))
    while extensions.left:
        yield extensions.number(2), extensions.vector(2)


class _Bytes:
    """Reads one field after the other. Raises IndexError beyond the end."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        if count > self.left:
            raise IndexError
        taken = self._data[self._at : self._at + count]
        self._at += count
        return taken

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "big")

    def vector(self, length_bytes: int) -> bytes:
        return self.take(self.number(length_bytes))
