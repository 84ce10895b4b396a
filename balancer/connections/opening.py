"""Takes in accepted connections of which nothing more has to be read before their protocol, with few objects for each.

Many clients ask once only, so a connection must not cost as much as its request. Does not know protocols or limits.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Coroutine
from typing import Any


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


class Opening:
    """A connection for which the event loop makes a transport. It is driven from outside, where a task would cost 5 µs.

    The loop waits once: until it has called `connection_made`, in its next turn. Then `finish` has to be called.
    """

    __slots__ = ("_is_cancelled", "_steps")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, connection: socket.socket, make: Callable[[], asyncio.BaseProtocol]
    ) -> None:
        """Raises OSError if the connection is gone."""
        self._steps: Coroutine[Any, Any, tuple[asyncio.Transport, object]]
        self._steps = loop.connect_accepted_socket(make, connection)
        self._steps.send(None)
        self._is_cancelled = False

    def finish(self) -> None:
        """The loop has called `connection_made`. To be called once."""
        try:
            self._steps.send(None)
        except StopIteration as end:
            if self._is_cancelled:
                end.value[0].abort()

    def cancel(self) -> None:
        """`finish` will cut the connection. Before, uvloop would call `connection_made` with freed memory."""
        self._is_cancelled = True


class TlsOpening:
    """A TLS handshake of an accepted connection, driven in the same way.

    The loop waits once: until the handshake is over.
    """

    __slots__ = ("_over", "_steps", "_waiter")

    def __init__(self, over: Callable[[TlsOpening, bool], None]) -> None:
        """`over` is called once after `begin`: with this handshake, and whether it failed and was not cancelled."""
        self._over = over

    def begin(
        self,
        loop: asyncio.AbstractEventLoop,
        connection: socket.socket,
        make: Callable[[], asyncio.BaseProtocol],
        tls: ssl.SSLContext,
        seconds: float,
    ) -> None:
        """Begins the handshake, which may take `seconds`. Raises OSError if the connection is gone."""
        self._steps: Coroutine[Any, Any, tuple[asyncio.Transport, object]]
        self._steps = loop.connect_accepted_socket(make, connection, ssl=tls, ssl_handshake_timeout=seconds)
        self._waiter: asyncio.Future[None] = self._steps.send(None)
        self._waiter.add_done_callback(self._finish)

    def cancel(self) -> None:
        """Breaks the handshake off and closes the connection."""
        self._waiter.cancel()

    def _finish(self, _: asyncio.Future[None]) -> None:
        failed = False
        try:
            self._steps.send(None)
        except OSError:  # the transport has closed the connection
            failed = True
        except (StopIteration, asyncio.CancelledError):
            pass
        finally:
            self._over(self, failed)
