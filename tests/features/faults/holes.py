"""Endpoints whose machine is gone: what is sent to them vanishes, and nothing ever comes back, not even a refusal."""

from __future__ import annotations

import asyncio
import socket
from types import TracebackType

from tests.fakes.endpoints import Script, Visit

_FILL = 4  # more than a backlog of 0 holds: the kernel keeps one or two connections and drops every further SYN


def fill(listener: socket.socket) -> list[socket.socket]:
    """Let `listener` establish no further connection as long as what is returned lives."""
    listener.listen(0)
    fillers = [socket.socket() for _ in range(_FILL)]
    for filler in fillers:
        filler.setblocking(False)
        filler.connect_ex(listener.getsockname())
    return fillers


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
