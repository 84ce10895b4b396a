"""WebSocket as far as an echo needs it (RFC 6455): a handshake, and messages of one size as constant bytes."""

from __future__ import annotations

import base64
import hashlib
import re

MESSAGE_BYTES = 128

# A mask of zeroes (section 5.3 wants any that nobody can foresee, for the sake of proxies that look at HTTP) leaves the
# payload as it is: neither end spends time on it.
REQUEST_FRAME = bytes((0x82, 0x80 | 126, 0, MESSAGE_BYTES)) + bytes(4) + b"x" * MESSAGE_BYTES
ANSWER_FRAME = bytes((0x82, 126, 0, MESSAGE_BYTES)) + b"x" * MESSAGE_BYTES

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_KEY = re.compile(rb"\r\nsec-websocket-key: *([^\r ]+)", re.IGNORECASE)


def handshake(host: str, path: str) -> bytes:
    """The client's part (section 4.1)."""
    return (
        f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    ).encode()


def acceptance(head: bytes) -> bytes:
    """The endpoint's answer to a whole head (section 4.2.2)."""
    key = _KEY.search(head)
    if key is None:
        raise ValueError("no key in the handshake")
    accept = base64.b64encode(hashlib.sha1(key[1] + _GUID).digest())
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"
    )
