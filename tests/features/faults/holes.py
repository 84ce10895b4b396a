"""Endpoints whose machine is gone: what is sent to them vanishes, and nothing ever comes back, not even a refusal."""

from __future__ import annotations

import asyncio
import ctypes
import os
import socket
import struct
from contextlib import suppress
from types import TracebackType

from tests.fakes.endpoints import Script, Visit

_SO_ATTACH_FILTER, _BPF_RETURN = 26, 0x06  # Linux; Python has no names for them
_FILL = 4  # more than a backlog of 0 holds: the kernel keeps one or two connections and drops every further SYN


def fill(listener: socket.socket) -> list[socket.socket]:
    """Let `listener` establish no further connection as long as what is returned lives."""
    listener.listen(0)
    fillers = [socket.socket() for _ in range(_FILL)]
    for filler in fillers:
        filler.setblocking(False)
        filler.connect_ex(listener.getsockname())
    return fillers


def swallow(port: int) -> None:
    """Drop every packet that comes for our sockets at `port`, open connections too: not even TCP sees it.

    A classic BPF program of one instruction, which takes no byte of any packet (socket(7), SO_ATTACH_FILTER).
    """
    program = ctypes.create_string_buffer(struct.pack("HBBI", _BPF_RETURN, 0, 0, 0))
    filter = struct.pack("HxxxxxxP", 1, ctypes.addressof(program))
    for each in os.listdir("/proc/self/fd"):
        with suppress(OSError), socket.socket(fileno=os.dup(int(each))) as found:  # most are no sockets
            if found.family == socket.AF_INET and found.getsockname()[1] == port:
                found.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, filter)


class LosableEndpoint:
    """Runs `script` for each connection until `lose`; from then on it is a black hole."""

    def __init__(self, script: Script, *, address: str = "127.0.0.1") -> None:
        self.address = address
        self.port = 0
        self._script = script
        self._tasks: set[asyncio.Task[None]] = set()
        self._fillers: list[socket.socket] = []
        self._writers: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> LosableEndpoint:
        self._listener = socket.socket()
        self._listener.setblocking(False)
        self._listener.bind((self.address, 0))
        self._listener.listen(64)
        self.port = self._listener.getsockname()[1]
        self._start(self._accept())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._cancel()
        for each in (self._listener, *self._fillers):
            each.close()
        for writer in self._writers:
            writer.transport.abort()

    async def lose(self) -> None:
        """Answer nothing any more: connections stay open but silent, new ones are never established."""
        await self._cancel()
        self._fillers += fill(self._listener)

    async def _cancel(self) -> None:
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, running: object) -> None:
        assert asyncio.iscoroutine(running)
        task = asyncio.get_running_loop().create_task(running)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            connection, _ = await loop.sock_accept(self._listener)
            reader, writer = await asyncio.open_connection(sock=connection)
            self._writers.append(writer)
            self._start(self._visit(Visit(len(self._writers), reader, writer)))

    async def _visit(self, visit: Visit) -> None:
        try:
            await self._script(visit)
        except (asyncio.IncompleteReadError, ConnectionError):
            await visit.close()
