"""Compares the bytes of two messages from their beginning and from their end.

This is the plain source. Compiled modules take the functions of `calls.pxd`, which are C.
"""

from __future__ import annotations


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
