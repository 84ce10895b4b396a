"""The endpoints behind the proxy: they record every byte and every request, and answer by path or by a case's script.

Requests are told apart by the client address that the proxy writes into X-Real-IP, so plays may run side by side. What
carries no known address is kept as stray and belongs to every play of its time.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import cast

from tests.features.http_cases.cases import Act, Pause, Send, Step, Way, cut
from tests.features.http_cases.messages import Message, Reader

_BIG_PIECE = bytes(64 * 1024)
_TIME_SCALE = 0.1  # of /sleep/N, as of the pauses in the file
PAGE = b"a page of the endpoint\n"


class Visit(asyncio.Protocol):
    """One connection from the proxy."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.service = backend.service
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writable = asyncio.Event()
        self._writable.set()
        self._transport: asyncio.Transport | None = None
        self.reader = Reader(on_head=self._continue, on_end=self._on_end)
        self.received_bytes = 0
        self.lost_at: float | None = None
        self.ended_by_proxy = self.ended_by_script = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._backend.visits.append(self)

    def data_received(self, data: bytes) -> None:
        self.received_bytes += len(data)
        if self.reader.tunnel is not None:
            self.reader.feed(data)
            self._in_tunnel(data)
            return
        self.reader.feed(data)
        if self.reader.rubbish and self._transport is not None:
            self._transport.abort()

    def eof_received(self) -> bool:
        self.ended_by_proxy = True
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended_by_proxy = self.ended_by_proxy or exc is not None
        self.lost_at = self._loop.time()
        self.reader.end()
        self._writable.set()
        for task in tuple(self._tasks):
            task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def _continue(self, request: Message) -> None:
        if b"100-continue" in request.values(b"expect") and request.framing != "none":
            self._write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _on_end(self, request: Message) -> None:
        script = self._backend.scripts.get(request.value(b"x-real-ip") or b"")
        answer = self._play(*script) if script is not None else self._answer(request)
        task = self._loop.create_task(answer)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, request: Message) -> None:
        _, first, *rest = (*request.target.partition(b"?")[0].split(b"/"), b"")
        if first == b"sleep":
            await asyncio.sleep(int(rest[0]) * _TIME_SCALE)
        elif first == b"big":
            await self._send_big(int(rest[0]))
            return
        elif first == b"redirect":
            self._write(b"HTTP/1.1 302 Found\r\nLocation: http://victim.test/\r\nContent-Length: 0\r\n\r\n")
            return
        elif first in (b"ws", b"ws-echo", b"ws-idle") and request.value(b"upgrade") is not None:
            self._upgrade(request)
            return
        body = b"" if request.method == b"HEAD" else PAGE
        fields = b"X-Service: %b\r\nX-Target: %b\r\nContent-Type: text/plain\r\n" % (
            self._backend.service.encode(),
            request.target,
        )
        self._write(b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n%b" % (fields, len(PAGE), body))

    def _upgrade(self, request: Message) -> None:
        if request.value(b"sec-websocket-version") != b"13":
            self._write(b"HTTP/1.1 426 Upgrade Required\r\nSec-WebSocket-Version: 13\r\nContent-Length: 0\r\n\r\n")
            return
        self._write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        self.reader.tunnel = bytearray()

    def _in_tunnel(self, data: bytes) -> None:
        if self.reader.messages[-1].target != b"/ws-idle":
            self._write(data)

    async def _send_big(self, size: int) -> None:
        self._write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        for _ in range(size // len(_BIG_PIECE)):
            await self._writable.wait()
            self._write(_BIG_PIECE)

    async def _play(self, steps: tuple[Step, ...], way: Way, seed: str) -> None:
        for step in steps:
            if isinstance(step, Send):
                await self._send(step, way, seed)
            elif isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
            else:
                self._act(step)

    async def _send(self, step: Send, way: Way, seed: str) -> None:
        for piece in step.pieces:
            for part in cut(piece, way, seed=seed) if step.every_seconds is None else (piece,):
                self._write(part)
                await self._writable.wait()
                await asyncio.sleep(step.every_seconds or 0)

    def _act(self, act: Act) -> None:
        assert self._transport is not None
        self.ended_by_script = True
        if act.name == "RST":
            connection = self._transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._transport.abort()
        else:
            assert act.name == "FIN"
            self._transport.close()


class Backend:
    """One endpoint of a Service. `scripts` says, by client address, what is answered in place of a page."""

    def __init__(self, service: str, scripts: dict[bytes, tuple[tuple[Step, ...], Way, str]]) -> None:
        self.service = service
        self.scripts = scripts
        self.visits: list[Visit] = []
        self.port = 0
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Visit(self), "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        self.close_visits()

    def close_visits(self) -> None:
        for visit in self.visits:
            visit.close()

    def requests(self, is_wanted: Callable[[Message], bool]) -> list[tuple[Visit, Message]]:
        return [(visit, request) for visit in self.visits for request in visit.reader.messages if is_wanted(request)]
