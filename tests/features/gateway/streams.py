"""Sends bytes without HTTP as a case says, and splits a ClientHello on its way.

An endpoint for TCP echoes a line behind its own name. What is sent begins with a probe, by which the endpoint is found.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from tests.features.gateway.cases import Json
from tests.features.ingress_nginx.clients import Seen

_ANSWER_SECONDS = 10.0
_PIECE_SECONDS = 0.02


class Streams(NamedTuple):
    """The connections that a case holds over steps, by name."""

    held: dict[str, tuple[asyncio.StreamReader, asyncio.StreamWriter]]

    def close(self) -> None:
        for _, writer in self.held.values():
            writer.transport.abort()


class Way(NamedTuple):
    """Where a connection goes, and how: `context` and `name` are those of TLS."""

    port: int
    context: ssl.SSLContext | None = None
    name: str | None = None


async def send(way: Way, request: Json, seen: Seen, streams: Streams) -> None:
    """Sends the bytes of `request`, and keeps the echo in `seen`. A connection that says nothing is refused."""
    seen.started = time.monotonic()
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            await _send(way, request, seen, streams)
    except (OSError, asyncio.IncompleteReadError) as error:  # TimeoutError and all of TLS are OSErrors
        seen.failure = f"{type(error).__name__}: {error}"
        broken = streams.held.pop(str(request.get("conn")), None)
        if broken is not None:
            broken[1].transport.abort()
    seen.ended = time.monotonic()


async def _send(way: Way, request: Json, seen: Seen, streams: Streams) -> None:
    name = request.get("conn")
    if name not in streams.held:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1",
            way.port,
            ssl=way.context,
            server_hostname=way.name,
        )
        if name is not None:
            streams.held[name] = reader, writer
    else:
        reader, writer = streams.held[name]
    said = f"{seen.probe} {request['send']}".encode()
    try:
        writer.write(said)
        if request.get("half_close"):
            writer.write_eof()
        answer = await reader.readuntil(b"\n")
        served_by, _, echo = answer.partition(b" ")
        if echo != said:
            raise ConnectionError(f"no echo but {answer!r}")
        seen.headers = [("x-served-by", served_by.decode())]
        seen.status = 200
    finally:
        if name is None:
            writer.transport.abort()


@asynccontextmanager
async def splitting(port: int, sizes: Sequence[int]) -> AsyncIterator[int]:
    """The port of somebody who passes on what comes to `port`, the first bytes in pieces of these sizes."""
    if not sizes:
        yield port
        return

    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection("127.0.0.1", port)
        back = asyncio.ensure_future(_pass_on(inner, writer))
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            for size in sizes:
                outer.write(await reader.readexactly(size))
                await outer.drain()
                await asyncio.sleep(_PIECE_SECONDS)  # or the kernel joins them
            await _pass_on(reader, outer)
        back.cancel()
        outer.transport.abort()
        writer.transport.abort()

    server = await asyncio.start_server(visit, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
