"""Asks the kernel for bytes and gives it bytes, and answers an error as a negative number and not as an exception.

This is the plain source. Compiled modules take the functions of `calls.pxd`, which call C.
"""

from __future__ import annotations

import os


def receive(descriptor: int, memory: bytearray, size: int) -> int:
    """Reads at most `size` bytes of a non-blocking socket into the beginning of `memory`.

    Returns how many came, 0 at the end of the stream, and less than 0 for an error: -errno.
    """
    try:
        return os.readv(descriptor, [memoryview(memory)[:size]])
    except OSError as error:
        return -(error.errno or 0)


def send(descriptor: int, data: bytes, start: int) -> int:
    """Writes what stands behind the first `start` bytes of `data` to a non-blocking socket.

    Returns how many bytes the kernel took, and less than 0 for an error: -errno.
    """
    try:
        return os.write(descriptor, memoryview(data)[start:] if start else data)
    except OSError as error:
        return -(error.errno or 0)
