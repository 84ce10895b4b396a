"""Holds an accepted connection with few objects and system calls. Does not know what becomes of it."""

from __future__ import annotations

import errno
import os
import socket
import warnings
from typing import TypeAlias

from balancer.runtime import calls


class AcceptedSocket:
    """The non-blocking descriptor of an accepted connection. `whole` makes the object of `socket` when it is asked for.

    Few connections need that object, and making it takes two system calls and as much time as the accept.
    """

    __slots__ = ("_descriptor", "_family", "_whole")

    def __init__(self, descriptor: int, family: int) -> None:
        self._descriptor = descriptor
        self._family = family
        self._whole: socket.socket | None = None

    def fileno(self) -> int:
        """The descriptor, -1 after `close`."""
        return self._descriptor

    def whole(self) -> socket.socket:
        """The object of `socket` for this connection. `close` closes it, too. Raises OSError after `close`."""
        whole = self._whole
        if whole is None:
            if self._descriptor < 0:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            whole = socket.socket(self._family, socket.SOCK_STREAM, 0, self._descriptor)
            self._whole = whole
            whole.setblocking(False)
        return whole

    def close(self) -> None:
        """Closes the connection, if that has not been done."""
        descriptor, whole = self._descriptor, self._whole
        self._descriptor = -1
        if whole is not None:
            whole.close()
        elif descriptor >= 0:
            calls.close(descriptor)

    def __del__(self) -> None:
        if self._descriptor >= 0:
            warnings.warn(f"a connection was not closed: {self._descriptor}", ResourceWarning, stacklevel=2)
            self.close()


AnySocket: TypeAlias = "socket.socket | AcceptedSocket"


def whole(connection: AnySocket) -> socket.socket:
    """The object of `socket` of a connection."""
    return connection.whole() if isinstance(connection, AcceptedSocket) else connection
