"""Lets the event loop accept the connections of a listening socket, where nothing is read before HTTP.

uvloop does so in C. A socket object, a future and a task for each connection would cost 9 µs of CPU more. asyncio's own
loop does so in Python, and then nobody knows which connections arrive while the worker ends.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable

from balancer.connections.listeners import BACKLOG

# uvloop accepts one connection from a descriptor in a turn of the loop. A turn costs more than an empty accept, and
# many connections in one turn are cheaper than one in each of many. More would delay requests in flight.
_AT_ONCE = 8


def accepts_well(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether `LoopListener` pays: not with asyncio's own loop."""
    return not isinstance(loop, asyncio.BaseEventLoop)


class LoopListener:
    """Accepts from `listener` between `start` and `stop`. `make` gives the protocol of each connection."""

    __slots__ = ("_listener", "_make", "_servers", "_sockets", "_starting")

    def __init__(self, listener: socket.socket, make: Callable[[], asyncio.BaseProtocol]) -> None:
        self._listener, self._make = listener, make
        self._sockets: list[socket.socket] = []  # those that no server has yet
        self._servers: list[asyncio.Server] = []
        self._starting: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Accepts from the next turn of the loop on.

        Raises OSError if too few descriptors are left, and still has to be stopped then.
        """
        for _ in range(_AT_ONCE):
            self._sockets.append(self._listener.dup())  # a server closes its socket in the end
        self._starting = asyncio.get_running_loop().create_task(self._start())

    def stop(self) -> None:
        """Accepts no more. The listener stays open, and connections wait in its queue."""
        if self._starting is not None:
            self._starting.cancel()
            self._starting = None
        for server in self._servers:
            server.close()
        for unused in self._sockets:
            unused.close()
        self._servers.clear()
        self._sockets.clear()

    async def _start(self) -> None:
        loop = asyncio.get_running_loop()
        while self._sockets:
            server = await loop.create_server(self._make, sock=self._sockets[-1], backlog=BACKLOG, start_serving=False)
            self._sockets.pop()
            self._servers.append(server)
            await server.start_serving()


def lowest_free(descriptor: int) -> int:
    """The number that the next descriptor of this process will have. Raises OSError if there is none left.

    `descriptor` is any open one. The kernel gives the lowest number, so at least so many are in use.
    """
    free = os.dup(descriptor)
    os.close(free)
    return free
