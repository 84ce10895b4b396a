"""Answers of a proxy as bytes on a kept connection: where one ends, and whether it is a success."""

from __future__ import annotations

import re

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)


class NoAnswer(Exception):
    """What came is not an answer of known length."""


def whole_bytes(data: bytes) -> int | None:
    """The length of the answer at the start of `data`, head and body; None while the head is not whole.

    Only lengths by Content-Length (RFC 9112 section 6.2) are known: every endpoint here says it.
    """
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return None
    length = _LENGTH.search(data, 0, end + 2)
    if length is None:
        raise NoAnswer(data[:200].decode("latin-1"))
    return end + 4 + int(length[1])


def is_success(data: bytes) -> bool:
    """Whether the status is 2xx (RFC 9110 section 15.3)."""
    return data[9:10] == b"2"
