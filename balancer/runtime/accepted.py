"""Accepts connections from a listening socket, with few objects for each. Does not know what becomes of them."""

from __future__ import annotations

import socket


class AcceptedSocket(socket.socket):
    """A socket of C without what `socket` adds in Python: family and type as enums, and files that share the socket.

    The enums would be looked up anew each time that the loop asks, and the rest is code for each connection.
    """

    __slots__ = ()

    __init__ = socket.SocketType.__init__
    family = socket.SocketType.family  # type: ignore[assignment]
    type = socket.SocketType.type  # type: ignore[assignment]
    close = socket.SocketType.close
    detach = socket.SocketType.detach

    def __exit__(self, *_: object) -> None:
        self.close()


def accept(listener: socket.socket, family: int) -> tuple[AcceptedSocket, str]:
    """The next connection of a listener of that address family, and the address of its peer. Raises OSError."""
    descriptor, address = listener._accept()  # type: ignore[attr-defined]
    return AcceptedSocket(family, socket.SOCK_STREAM, 0, descriptor), address[0]
