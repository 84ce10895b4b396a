"""Asks the kernel for bytes and for sockets that are ready, and gives it bytes, without objects and exceptions.

This is the plain source. Compiled modules take the functions of `calls.pxd`, which call C.
"""

from __future__ import annotations

import os
import select


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


def room_for(most: int) -> list[tuple[int, int]]:
    """Where `ready` puts at most so many sockets."""
    return []


def ready(epoll: select.epoll, room: list[tuple[int, int]], most: int) -> int:
    """Asks which sockets of an epoll are ready, without waiting. Returns how many are, at most `most`."""
    room[:] = epoll.poll(0, most)
    return len(room)


def descriptor_at(room: list[tuple[int, int]], number: int) -> int:
    """The descriptor of a socket that `ready` has found."""
    return room[number][0]


def events_at(room: list[tuple[int, int]], number: int) -> int:
    """What a socket that `ready` has found is ready for."""
    return room[number][1]
