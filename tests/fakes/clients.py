"""A client that sends exactly the bytes a test says and reads responses by its own, independent rules."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from types import TracebackType
from typing import NamedTuple, cast

from tests.fakes.sockets import narrow, reset


class Response(NamedTuple):
    """A response as read off the wire: `fields` by lower-case name (the last of each), `body` decoded."""

    status: int
    fields: dict[bytes, bytes]
    body: bytes
    head: bytes


class RawClient:
    """One connection to a port on loopback. `buffer_bytes` bounds what the kernel holds for it in each direction.

    `source` is the loopback address from which the client comes; empty: any.
    """

    def __init__(self, port: int, *, buffer_bytes: int | None = None, source: str = "") -> None:
        self._port = port
        self._source = source
        self._buffer_bytes = buffer_bytes

    async def __aenter__(self) -> RawClient:
        connection = socket.socket()
        connection.setblocking(False)
        if self._buffer_bytes is not None:
            narrow(connection, self._buffer_bytes)
        if self._source:
            connection.bind((self._source, 0))
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", self._port))
        self.reader, self.writer = await asyncio.open_connection(sock=connection, limit=2**16)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.writer.transport.abort()
        with suppress(ConnectionError):
            await self.writer.wait_closed()

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    def finish_sending(self) -> None:
        """Close this direction only."""
        self.writer.write_eof()

    def stop_reading(self) -> None:
        """Leave what comes to the kernel's buffers from now on."""
        cast("asyncio.Transport", self.writer.transport).pause_reading()

    def resume_reading(self) -> None:
        cast("asyncio.Transport", self.writer.transport).resume_reading()

    def reset(self) -> None:
        """Close with RST."""
        reset(self.writer)

    @property
    def unsent_bytes(self) -> int:
        """What was given to `send` and not even the kernel has taken."""
        return self.writer.transport.get_write_buffer_size()

    async def head(self) -> bytes:
        return await self.reader.readuntil(b"\r\n\r\n")

    async def response(self, *, bodiless: bool = False) -> Response:
        """The next final response, whole. Raises IncompleteReadError or ConnectionError when it is cut short."""
        head = await self.head()
        lines = head[:-4].split(b"\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines[1:])}
        body = b""
        if bodiless:
            pass
        elif fields.get(b"transfer-encoding") == b"chunked":
            body = await self._chunked()
        elif b"content-length" in fields:
            body = await self.reader.readexactly(int(fields[b"content-length"]))
        elif fields.get(b"connection") == b"close":
            body = await self.reader.read()
        return Response(int(lines[0].split(b" ")[1]), fields, body, head)

    async def ask(self, request: bytes, *, bodiless: bool = False) -> Response:
        self.send(request)
        return await self.response(bodiless=bodiless)

    async def rest(self) -> bytes:
        """All that comes until a clean end. Raises ConnectionError when there is none."""
        return await self.reader.read()

    async def _chunked(self) -> bytes:
        body = b""
        while size := int(await self.reader.readuntil(b"\r\n"), 16):
            body += await self.reader.readexactly(size)
            assert await self.reader.readexactly(2) == b"\r\n"
        while await self.reader.readuntil(b"\r\n") != b"\r\n":
            pass
        return body
