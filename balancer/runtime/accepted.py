"""Accepts connections from a listening socket, with few objects for each. Does not know what becomes of them."""

from __future__ import annotations

import socket


class AcceptedSocket(socket.socket):
    """A socket whose family and type are plain numbers.

    As enums they would be looked up anew each time that the loop asks, for 4 µs a connection.
    """

    __slots__ = ()

    family = socket.SocketType.family  # type: ignore[assignment]
    type = socket.SocketType.type  # type: ignore[assignment]
    detach = socket.SocketType.detach  # that of `socket` only calls this one and notes that nothing is to be closed


def accept(listener: socket.socket, family: int) -> tuple[AcceptedSocket, str]:
    """The next connection of a listener of that address family, and the address of its peer. Raises OSError."""
    descriptor, address = listener._accept()  # type: ignore[attr-defined]
    return AcceptedSocket(family, socket.SOCK_STREAM, 0, descriptor), address[0]
