"""Connections with a transport for plain TCP at one end, and a protocol that notes what it is told."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from balancer.runtime.reading import ReadsPieces
from balancer.runtime.tcp import TcpTransport, TcpTransports

LARGE = 8 << 20
"""More than the buffers of two sockets take."""


class Noting(ReadsPieces):
    """Notes what its transport calls. `react` is called with the bytes that came."""

    def __init__(self, react: Callable[[Noting], None] | None = None, *, keeps_open: bool = False) -> None:
        self.react, self.keeps_open = react, keeps_open
        self.pieces: list[bytes] = []
        self.calls: list[str] = []
        self.error: Exception | None = None
        self.changed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._note("made")

    def data_received(self, data: bytes) -> None:
        self.pieces.append(data)
        self.changed.set()
        if self.react is not None:
            self.react(self)

    def eof_received(self) -> bool:
        self._note("eof")
        return self.keeps_open

    def pause_writing(self) -> None:
        self._note("pause")

    def resume_writing(self) -> None:
        self._note("resume")

    def connection_lost(self, exc: Exception | None) -> None:
        self.error = exc
        self._note("lost")

    def _note(self, call: str) -> None:
        self.calls.append(call)
        self.changed.set()

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not is_so():
                self.changed.clear()
                await self.changed.wait()

    async def until_called(self, call: str) -> None:
        await self.until(lambda: call in self.calls)

    @property
    def received(self) -> bytes:
        return b"".join(self.pieces)


class Line:
    """A connection: a transport with its protocol, and the socket at the other end."""

    def __init__(self, transports: TcpTransports, protocol: Noting, own: socket.socket, peer: socket.socket) -> None:
        self.protocol, self.peer, self.own = protocol, peer, own
        self.transport: TcpTransport = transports.open(own, protocol)

    async def peer_reads(self, count: int) -> bytes:
        loop, parts, left = asyncio.get_running_loop(), [], count
        async with asyncio.timeout(20):
            while left and (part := await loop.sock_recv(self.peer, left)):
                parts.append(part)
                left -= len(part)
        return b"".join(parts)

    async def peer_sends(self, data: bytes) -> None:
        async with asyncio.timeout(20):
            await asyncio.get_running_loop().sock_sendall(self.peer, data)


@asynccontextmanager
async def line(protocol: Noting | None = None, transports: TcpTransports | None = None) -> AsyncIterator[Line]:
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as server:
        peer = socket.create_connection(server.getsockname())
        own, _ = server.accept()
    peer.setblocking(False)
    made = Line(transports or TcpTransports(loop), protocol or Noting(), own, peer)
    with peer:
        yield made
        made.transport.abort()
        await made.protocol.until_called("lost")
