"""Compares the bytes of two messages from their beginning and from their end, and looks at their lines.

This is the plain source. Compiled modules take the functions of `calls.pxd`, which are C.
"""

from __future__ import annotations

import re
from typing import TypeVar

LEAST_COMPARED = 384
"""Field lines with fewer bytes are read sooner than they are compared with others. Compiled modules compare all."""

_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
_T = TypeVar("_T")


def alike_from_start(one: bytes, other: bytes, start: int) -> int:
    """How many bytes at the beginning of `one` stand in `other` as well, behind its first `start`."""
    alike, most = 0, min(len(one), len(other) - start)
    while alike < most:
        middle = (alike + most + 1) // 2
        if one[alike:middle] == other[start + alike : start + middle]:
            alike = middle
        else:
            most = middle - 1
    return alike


def alike_to_end(one: bytes, other: bytes, most: int) -> int:
    """How many bytes at the end of `one` and `other` are the same, of the last `most`, which both have."""
    alike = 0
    while alike < most:
        middle = (alike + most + 1) // 2
        if one[len(one) - middle : len(one) - alike] == other[len(other) - middle : len(other) - alike]:
            alike = middle
        else:
            most = middle - 1
    return alike


begins_with = bytes.startswith  # without a call of Python for each request
ends_with = bytes.endswith
joined = b"".join


def last_line_end(data: bytes, stop: int) -> int:
    """Where the last end of a line begins that ends before `stop`; -1 if there is none."""
    return data.rfind(b"\r\n", 0, stop)


def next_line_end(data: bytes, start: int) -> int:
    """Where the first end of a line begins, at `start` or behind it; -1 if there is none."""
    return data.find(b"\r\n", start)


def line_ends(data: bytes, start: int, stop: int) -> int:
    """How many whole ends of lines stand in `data[start:stop]`."""
    return data.count(b"\r\n", start, stop)


def are_alike_around(known: bytes, data: bytes, start: int, before: int, rest: int) -> bool:
    """Whether the first `before` and the last `rest` bytes of `known` begin and end what stands in `data` from `start`.

    They overlap in neither.
    """
    return (
        before + rest <= min(len(known), len(data) - start)
        and data.startswith(known[:before], start)
        and data.endswith(known[len(known) - rest :])
    )


def value_of(name: bytes, data: bytes, start: int, stop: int) -> bytes | None:
    """The value of the field line `data[start:stop]`. None if its name is not spelled like that, or it is no line."""
    line = data[start:stop]
    if not line.startswith(name) or line[len(name) : len(name) + 1] != b":":
        return None
    value = line[len(name) + 1 :].strip(b" \t")
    return value if _VALUE.fullmatch(value) is not None else None


def spliced(data: bytes, start: int, stop: int, piece: bytes) -> bytes:
    """`data` with `piece` in place of `data[start:stop]`."""
    return data[:start] + piece + data[stop:]


def with_item(items: tuple[_T, ...], place: int, item: _T) -> tuple[_T, ...]:
    """`items` with `item` in place of the one at `place`."""
    return (*items[:place], item, *items[place + 1 :])


def value_behind(line: bytes, start: int) -> bytes:
    """The value of a field line that begins at `start`, without the white space around it (RFC 9110 5.5)."""
    return line[start:].strip(b" \t")


def is_value(value: bytes) -> bool:
    """Whether there is no control byte in a value but tabs (RFC 9110 5.5)."""
    return _VALUE.fullmatch(value) is not None
