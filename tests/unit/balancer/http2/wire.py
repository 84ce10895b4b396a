"""Frames by hand, for what no engine would send."""

from __future__ import annotations

from balancer.http2.frames import PREFACE

SETTINGS_FRAME = bytes.fromhex("000000040000000000")
SETTINGS_ACK = bytes.fromhex("000000040100000000")
HELLO = PREFACE + SETTINGS_FRAME + SETTINGS_ACK


def frame(kind: int, flags: int, payload: bytes, stream: int = 0) -> bytes:
    """A frame (RFC 9113 4.1)."""
    return len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload


def literal(name: bytes, value: bytes) -> bytes:
    """A field without indexing and Huffman (RFC 7541 6.2.2); both have fewer than 127 bytes."""
    return b"\x00" + bytes((len(name),)) + name + bytes((len(value),)) + value


def block(fields: tuple[tuple[bytes, bytes], ...]) -> bytes:
    return b"".join(literal(name, value) for name, value in fields)
