"""An endpoint and a client for bodies of a gigabyte: they hash what passes and keep none of it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Literal

import httptools

Framing = Literal["length", "chunked"]

_BLOCK = bytes(range(256)) * 1024  # 256 KiB: a few writes a megabyte, and small beside the memory that is measured
_READ_BYTES = 1024 * 1024


def blocks(total_bytes: int) -> Iterator[bytes]:
    """A body in pieces, each of which is numbered: a piece that is lost, doubled or moved changes the hash."""
    for number in range(0, total_bytes, len(_BLOCK)):
        yield (number.to_bytes(8, "big") + _BLOCK[8:])[: total_bytes - number]


def digest_of(total_bytes: int) -> str:
    """The hash of the body that `blocks` makes."""
    digest = hashlib.sha256()
    for block in blocks(total_bytes):
        digest.update(block)
    return digest.hexdigest()


class _Body:
    """What a parser reports of one message."""

    def __init__(self) -> None:
        self.target = b""
        self.bytes = 0
        self.digest = hashlib.sha256()
        self.is_complete = False

    def on_url(self, target: bytes) -> None:
        self.target += target

    def on_body(self, data: bytes) -> None:
        self.bytes += len(data)
        self.digest.update(data)

    def on_message_complete(self) -> None:
        self.is_complete = True


class BulkEndpoint:
    """Answers `/upload` with what it received, and `/download/<framing>/<bytes>` with a body of that size."""

    def __init__(self, service: str, *, zone: str | None = None) -> None:
        self.service = service
        self.zone = zone
        self.port = 0
        self.uploads: list[tuple[int, str]] = []
        self._listener: asyncio.Server | None = None

    async def start(self) -> None:
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_READ_BYTES, backlog=1024)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._listener is not None
        self._listener.close()
        await self._listener.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body = _Body()
        parser = httptools.HttpRequestParser(body)
        while not body.is_complete and (data := await reader.read(_READ_BYTES)):
            parser.feed_data(data)
        if body.target.startswith(b"/download/"):
            _, _, framing, total_bytes = body.target.decode().split("/")
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n")
            with suppress(ConnectionError):  # whoever asked may leave before the end
                await send_body(writer, int(total_bytes), framing="chunked" if framing == "chunked" else "length")
        else:
            self.uploads.append((body.bytes, body.digest.hexdigest()))
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        writer.close()


async def send_body(writer: asyncio.StreamWriter, total_bytes: int, *, framing: Framing) -> None:
    """The fields of the framing, the end of the head, and the body."""
    is_chunked = framing == "chunked"
    field = b"Transfer-Encoding: chunked" if is_chunked else b"Content-Length: %d" % total_bytes
    writer.write(field + b"\r\n\r\n")
    for block in blocks(total_bytes):
        writer.write(b"%x\r\n%b\r\n" % (len(block), block) if is_chunked else block)
        await writer.drain()
    if is_chunked:
        writer.write(b"0\r\n\r\n")


class Received(_Body):
    """A response whose body was hashed; `status` is its status."""

    status = 0


async def receive(reader: asyncio.StreamReader) -> Received:
    """Read one response to its end."""
    received = Received()
    parser = httptools.HttpResponseParser(received)
    while not received.is_complete and (data := await reader.read(_READ_BYTES)):
        parser.feed_data(data)
    received.status = parser.get_status_code()
    return received
