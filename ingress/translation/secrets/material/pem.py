"""Reads and writes the text form of certificates and keys (RFC 7468) in time that grows with the text alone.

It must not know what the blocks of a text hold.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import NamedTuple

_BEGIN, _END, _DASHES = b"-----BEGIN ", b"-----END ", b"-----"
_LABEL_BYTES_MOST = 64
_LINE = 64


class MalformedPem(ValueError):
    """A block of the text has no end, another name at its end, or a content that is not base64."""


class Block(NamedTuple):
    """One block: the name in its borders, and its content."""

    label: str
    der: bytes


def blocks(text: bytes) -> Iterator[Block]:
    """Every block of a text, in order. Text between blocks is left out. Raises `MalformedPem`."""
    at = text.find(_BEGIN)
    while at >= 0:
        start = text.find(_DASHES, at + len(_BEGIN))
        end = text.find(_END, at)
        label = text[at + len(_BEGIN) : start]
        if start < 0 or end < start or len(label) > _LABEL_BYTES_MOST:
            raise MalformedPem("a block has no end")
        if not text.startswith(label + _DASHES, end + len(_END)):
            raise MalformedPem("a block ends with another name")
        content = text[start + len(_DASHES) : end].translate(None, b" \t\r\n")
        try:
            yield Block(label.decode("ascii"), base64.b64decode(content, validate=True))
        except (binascii.Error, UnicodeDecodeError):
            raise MalformedPem("a block is not base64") from None
        at = text.find(_BEGIN, end)


def written(label: str, der: bytes) -> bytes:
    """The text of one block."""
    content = base64.b64encode(der)
    lines = [content[start : start + _LINE] for start in range(0, len(content), _LINE)]
    name = label.encode("ascii")
    return b"\n".join((_BEGIN + name + _DASHES, *lines, _END + name + _DASHES, b""))
