"""Endpoints of the soak: they answer with the id and a hash of what came, in lengths, in chunks, or as a tunnel.

Responsible for answering and for noting every POST. Nothing is kept of a connection that is over.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress

from tests.features.faults.load import body_of, digest_of

_CHUNK_BYTES = 8 * 1024
_BACKLOG = 1024


class Endpoint:
    """One endpoint of a Service on loopback. `posts` is shared: no POST may arrive anywhere twice."""

    def __init__(self, service: str, zone: str, posts: Counter[str]) -> None:
        self.service = service
        self.zone = zone
        self.port = 0
        self._posts = posts
        self._accepting: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Endpoint:
        self._accepting = await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=_BACKLOG)
        self.port = self._accepting.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._accepting is not None
        self._accepting.close()
        serving = tuple(self._serving)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(EOFError, ConnectionError):
            while await self._answer(reader, writer):
                await writer.drain()
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether another may follow."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head[:-4].split("\r\n")
        method, target, _ = first.split(" ")
        fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        *_, framing, size, identity = target.split("/")
        if "upgrade" in fields:
            await self._echo(reader, writer, fields["upgrade"])
            return False
        received = await _body(reader, fields)
        if method == "POST":
            self._posts[identity] += 1
        body = body_of(identity, int(size))
        writer.write(
            f"HTTP/1.1 200 OK\r\nX-Id: {identity}\r\nX-Service: {self.service}\r\n"
            f"X-Received: {digest_of(received)}\r\n".encode()
        )
        writer.write(_in_chunks(body) if framing == "chunked" else b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        return True

    async def _echo(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, protocol: str) -> None:
        head = f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n\r\n"
        writer.write(head.encode())
        while data := await reader.read(_CHUNK_BYTES):
            writer.write(data)
            await writer.drain()


async def _body(reader: asyncio.StreamReader, fields: dict[str, str]) -> bytes:
    if fields.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(fields.get("content-length", "0")))
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readuntil(b"\r\n")
    return body


def _in_chunks(body: bytes) -> bytes:
    """The end of the head, and the body in chunks (RFC 9112 7.1)."""
    return b"Transfer-Encoding: chunked\r\n\r\n" + chunks(body)


def chunks(body: bytes) -> bytes:
    """A body as chunks with their end."""
    pieces = (body[start : start + _CHUNK_BYTES] for start in range(0, len(body), _CHUNK_BYTES))
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
