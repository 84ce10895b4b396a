"""An endpoint that does on the wire exactly what a test's script says, byte for byte, well-behaved or not."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType

from tests.fakes.sockets import narrow, reset

_BACKLOG = 4096


class Visit:
    """One connection to the endpoint, as the script sees it.

    `received` holds every byte that has been read, and `heads` counts the heads of requests.
    """

    def __init__(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.number = number
        self.received = b""
        self.heads = 0
        self._reader = reader
        self._writer = writer

    async def head(self) -> bytes:
        """The next request head, with its final empty line. Raises IncompleteReadError when none comes any more."""
        head = self._keep(await self._reader.readuntil(b"\r\n\r\n"))
        self.heads += 1
        return head

    async def exactly(self, size: int) -> bytes:
        return self._keep(await self._reader.readexactly(size))

    async def until(self, mark: bytes) -> bytes:
        return self._keep(await self._reader.readuntil(mark))

    async def some(self) -> bytes:
        """Whatever has come, at least a byte; empty at the end."""
        return self._keep(await self._reader.read(65536))

    async def rest(self) -> bytes:
        """All that comes until the other side closes, cleanly or not."""
        rest = b""
        try:
            while data := await self._reader.read(65536):
                rest += self._keep(data)
        except ConnectionError:
            pass
        return rest

    async def send(self, data: bytes) -> None:
        """Send `data` as a read of its own: the other side gets the time to take it before more is sent."""
        self._writer.write(data)
        await self._writer.drain()
        for _ in range(3):
            await asyncio.sleep(0)

    def finish_sending(self) -> None:
        """Close this direction only."""
        self._writer.write_eof()

    async def close(self) -> None:
        """Close after all that was sent has left."""
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()

    def reset(self) -> None:
        """Close with RST."""
        reset(self._writer)

    def _keep(self, data: bytes) -> bytes:
        self.received += data
        return data


Script = Callable[[Visit], Awaitable[None]]


class ScriptedEndpoint:
    """Listens on a free loopback port and runs `script` for each connection, which is closed when the script ends.

    `buffer_bytes` bounds what the kernel holds for each connection, so that a test can see back-pressure. A second
    loopback address gives it another place in an order by address.
    """

    def __init__(self, script: Script, *, address: str = "127.0.0.1", buffer_bytes: int | None = None) -> None:
        self.address = address
        self.visits: list[Visit] = []
        self.port = 0
        self._script = script
        self._buffer_bytes = buffer_bytes
        self._tasks: set[asyncio.Task[None]] = set()
        self._accepting: asyncio.Server | None = None

    async def __aenter__(self) -> ScriptedEndpoint:
        listener = socket.socket()
        if self._buffer_bytes is not None:
            narrow(listener, self._buffer_bytes)
        listener.bind((self.address, 0))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # for who takes the place of this endpoint
        # Past the default of 100, a storm waits a second for a packet to be sent again.
        self._accepting = await asyncio.start_server(self._visited, sock=listener, limit=2**16, backlog=_BACKLOG)
        self.port = listener.getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._accepting is not None:  # else a subclass accepts by itself, and `stop` ends that
            for listener in self._accepting.sockets:  # nothing new, and
                asyncio.get_running_loop().remove_reader(listener.fileno())
        for _ in range(5):  # what is being accepted becomes a visit first: asyncio loses it otherwise
            await asyncio.sleep(0)
        await self.stop()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for visit in self.visits:
            with suppress(asyncio.CancelledError):  # of a `close` whose task was cancelled
                await visit.close()

    async def stop(self) -> None:
        """Refuse connections from now on."""
        assert self._accepting is not None
        self._accepting.close()

    @property
    def requests(self) -> int:
        """How many request heads have been read."""
        return sum(visit.received.count(b" HTTP/1.1\r\n") for visit in self.visits)

    def _visited(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visit = Visit(len(self.visits), reader, writer)
        self.visits.append(visit)
        task = asyncio.get_running_loop().create_task(self._run(visit))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, visit: Visit) -> None:
        try:
            await self._script(visit)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the proxy is done with this connection
        finally:
            await visit.close()


def answering(response: bytes) -> Script:
    """A script that answers every body-less request with `response`."""

    async def script(visit: Visit) -> None:
        while True:
            await visit.head()
            await visit.send(response)

    return script
