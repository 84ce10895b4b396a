"""Reads the first message of TLS as far as needed before OpenSSL does: the protocols and the name of the client.

Python's ssl continues without a common protocol, although RFC 7301 3.2 demands a refused handshake. Only reads: a
malformed message offers nothing here, and OpenSSL refuses it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

NO_APPLICATION_PROTOCOL: Final = b"\x15\x03\x03\x00\x02\x02\x78"
"""The fatal alert of RFC 7301 3.2, as a record before keys are agreed on."""

HELLO_BYTES_MAX: Final = 24 * 1024
"""The most bytes that are looked at. A ClientHello that needs more is read by nobody here."""

RECORDS_MOST: Final = 32
"""The most records over which a ClientHello may be spread."""

_RECORD_BYTES_MAX = 5 + 2**14  # with its header (RFC 8446 5.1)

_HEADER_BYTES = 5
_HANDSHAKE, _CLIENT_HELLO = 22, 1
_SERVER_NAME, _HOST_NAME, _ALPN = 0, 0, 16
_SESSION_ID_AT = 4 + 2 + 32  # after kind and length of the message, version and random (RFC 8446 4.1.2)


class Hello(NamedTuple):
    """What is known of a ClientHello: how many bytes are needed to know it, the offered protocols and the server name.

    The name is that of RFC 6066 3 as it came, None without one. Without ALPN there are no protocols. `is_whole`: it is
    a whole ClientHello; else it is something else, or too large.
    """

    needs_bytes: int
    protocols: tuple[bytes, ...] = ()
    server_name: str | None = None
    is_whole: bool = False


def read_hello(data: bytes) -> Hello:
    """What the first bytes of a connection say. With fewer than `needs_bytes`, ask again with more.

    Anything but a whole ClientHello offers nothing and names nobody.
    """
    if len(data) < _HEADER_BYTES:
        return Hello(_HEADER_BYTES if data[:1] in (b"", bytes([_HANDSHAKE])) else 0)
    needed = _HEADER_BYTES + (data[3] << 8) + data[4]
    if data[0] != _HANDSHAKE or needed > _RECORD_BYTES_MAX:
        return Hello(0)
    if len(data) < needed:
        return Hello(needed)
    try:
        if needed < _HEADER_BYTES + 4 or needed < _HEADER_BYTES + 4 + (data[6] << 16) + (data[7] << 8) + data[8]:
            return _read_spread(data)
        return _read(needed, data[_HEADER_BYTES:needed])
    except IndexError:
        return Hello(needed)


def _read_spread(data: bytes) -> Hello:
    """Reads a message that several records hold (RFC 8446 5.1). Raises IndexError as `_read` does."""
    message, at = b"", 0
    for _ in range(RECORDS_MOST):
        if len(data) < at + _HEADER_BYTES:
            return _wanting(at + _HEADER_BYTES)
        end = at + _HEADER_BYTES + (data[at + 3] << 8) + data[at + 4]
        if data[at] != _HANDSHAKE or end == at + _HEADER_BYTES or end - at > _RECORD_BYTES_MAX:
            return Hello(0)
        if len(data) < end:
            return _wanting(end)
        message += data[at + _HEADER_BYTES : end]
        at = end
        if message[0] != _CLIENT_HELLO:
            return Hello(0)
        if len(message) >= 4 and len(message) >= 4 + (message[1] << 16) + (message[2] << 8) + message[3]:
            return _read(at, message)
    return Hello(0)


def _wanting(size: int) -> Hello:
    return Hello(size if size <= HELLO_BYTES_MAX else 0)


def _read(needed: int, message: bytes) -> Hello:
    """Reads a message by position and in one pass, because every handshake pays for it.

    Raises IndexError if the message contradicts its own lengths.
    """
    protocols, name = tuple[bytes, ...](), None
    at = _first_extension(message)
    end = at + (message[at - 2] << 8) + message[at - 1]
    while at < end:
        kind = (message[at] << 8) + message[at + 1]
        size = (message[at + 2] << 8) + message[at + 3]
        at += 4 + size
        if at > end:
            raise IndexError
        if kind == _SERVER_NAME:
            name = _host_name(message[at - size : at])
        elif kind == _ALPN:
            protocols = _offered(message[at - size : at])
    return Hello(needed, protocols, name, True)


def _first_extension(message: bytes) -> int:
    """Where the first extension begins, after the length of them all."""
    if message[0] != _CLIENT_HELLO or len(message) < 4 + (message[1] << 16) + (message[2] << 8) + message[3]:
        raise IndexError
    at = _SESSION_ID_AT
    at += 1 + message[at]
    at += 2 + (message[at] << 8) + message[at + 1]  # cipher suites
    at += 1 + message[at]  # compression methods
    if at + 2 + (message[at] << 8) + message[at + 1] > len(message):
        raise IndexError
    return at + 2


def _host_name(extension: bytes) -> str | None:
    """RFC 6066 3: the first name of a list."""
    name = extension[5 : 5 + (extension[3] << 8) + extension[4]]
    return name.decode("ascii") if extension[2] == _HOST_NAME and name.isascii() else None


def _offered(extension: bytes) -> tuple[bytes, ...]:
    """RFC 7301 3.1: the names of protocols, each after its length."""
    protocols, at = list[bytes](), 2
    while at < len(extension):
        size = extension[at]
        protocols.append(extension[at + 1 : at + 1 + size])
        at += 1 + size
    if at != len(extension):
        raise IndexError
    return tuple(protocols)
