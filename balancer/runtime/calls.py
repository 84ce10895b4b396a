"""Asks the kernel for bytes and for sockets that are ready, and gives it bytes, without objects and exceptions.

This is the plain source. Compiled modules take the functions of `calls.pxd`, which call C.
"""

from __future__ import annotations

import errno
import operator
import os
import select
import socket
import sys
from typing import Protocol

from balancer.runtime.transports import plain_address

_FEW_BYTES = 1024  # up to here, two copies cost less than a view of a part
_WAITING_IN_INFO = slice(24, 28)  # where `tcp_info` of linux/tcp.h has tcpi_unacked
_PEEK_AT_ONCE = int(socket.MSG_PEEK | socket.MSG_DONTWAIT)


class HasSocket(Protocol):
    """A connection that has an object of `socket`, made when it is asked for."""

    def whole(self) -> socket.socket:
        """The object."""


def receive(descriptor: int, memory: bytearray, piece: memoryview, size: int) -> int:
    """Reads at most `size` bytes of a non-blocking socket into the beginning of `memory`, which is `piece`.

    Returns how many came, 0 at the end of the stream, and less than 0 for an error: -errno.
    """
    try:
        return os.readv(descriptor, (piece,))
    except OSError as error:
        return -(error.errno or 0)


def taken(memory: bytearray, nbytes: int) -> bytes:
    """A copy of the first `nbytes` of `memory`."""
    if nbytes > _FEW_BYTES:
        return bytes(memoryview(memory)[:nbytes])
    return b"" + memory[:nbytes]  # a call of `bytes` would cost more


def has_unread(descriptor: int) -> bool:
    """Whether anything can be read: bytes, the end of the stream or an error."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def send(descriptor: int, data: bytes, start: int) -> int:
    """Writes what stands behind the first `start` bytes of `data` to a non-blocking socket.

    Returns how many bytes the kernel took, and less than 0 for an error: -errno.
    """
    try:
        return os.write(descriptor, memoryview(data)[start:] if start else data)
    except OSError as error:
        return -(error.errno or 0)


def send_last(descriptor: int, data: bytes, start: int) -> int:
    """As `send`, before the socket is closed. If all of it was taken, the output may end with it, in one packet."""
    return send(descriptor, data, start)


def room_for(most: int) -> list[tuple[int, int]]:
    """Where `ready` puts at most so many sockets."""
    return []


def ready(epoll: select.epoll, room: list[tuple[int, int]], most: int) -> int:
    """Asks which sockets of an epoll are ready, without waiting. Returns how many are, at most `most`."""
    room[:] = epoll.poll(0, most)
    return len(room)


event_at = operator.getitem  # without a call of Python for each event
"""The descriptor of a socket that `ready` has found, by its number in the room, and what it is ready for."""


def waiting(listener: socket.socket) -> int:
    """How many connections wait to be accepted, at least 1 (sk_ack_backlog, as `ss` shows it)."""
    info = listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _WAITING_IN_INFO.stop)
    return int.from_bytes(info[_WAITING_IN_INFO], sys.byteorder) or 1


def room_for_peer() -> list[str]:
    """Where `accept` puts the address of a peer."""
    return []


def accept(listener: socket.socket, room: list[str]) -> int:
    """The descriptor of the next connection that waits at a non-blocking listener; it is non-blocking, too.

    Returns less than 0 for an error: -errno.
    """
    try:
        descriptor, address = listener._accept()  # type: ignore[attr-defined]
    except OSError as error:
        return -(error.errno or errno.EIO)
    os.set_blocking(descriptor, False)
    room[:] = (address[0],)
    return int(descriptor)


def peer_of(room: list[str]) -> str:
    """The address of the peer of the connection that was accepted last, with mapped IPv4 written as IPv4."""
    return plain_address(room[0])


def close(descriptor: int) -> None:
    """Closes a descriptor."""
    try:
        os.close(descriptor)
    except OSError:  # it is closed, whatever the kernel had to say (close(2))
        return


def peek(connection: HasSocket, memory: bytearray, size: int) -> bytes:
    """At most `size` bytes that have come, which stay in the socket. Empty without any, at its end, and for an error.

    `memory` has room for them.
    """
    try:
        return connection.whole().recv(size, _PEEK_AT_ONCE)
    except OSError:
        return b""
