"""WebSocket clients that each send a message of 128 bytes when the last one has come back.

Arguments: port, host, path, seconds, connections. Prints a `Load` as JSON; its requests are messages.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import cast

import msgspec
import uvloop

from tests.bench.peers.loads.frames import ANSWER_FRAME, REQUEST_FRAME, handshake
from tests.bench.peers.samples import Load

_START_SECONDS = 10


class EchoClient(asyncio.Protocol):
    """One connection; `echoes` grows by one with each message that has come back."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._transport: asyncio.Transport | None = None
        self._pending = 0
        self._head = b""
        self.is_open: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.is_lost = False
        self.echoes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self.is_open.done():
            self._read_head(data)
            return
        whole, self._pending = divmod(self._pending + len(data), len(ANSWER_FRAME))
        self.echoes += whole
        if whole:
            self.send()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        if not self.is_open.done():
            self.is_open.set_exception(exc or ConnectionError("no handshake"))

    def send(self) -> None:
        assert self._transport is not None
        self._transport.write(REQUEST_FRAME)

    def close(self) -> None:
        assert self._transport is not None
        self._transport.abort()

    def _read_head(self, data: bytes) -> None:
        self._head += data
        if b"\r\n\r\n" not in self._head:
            return
        if b" 101 " in self._head[:20]:
            self.is_open.set_result(None)
        else:
            self.is_open.set_exception(ConnectionError(self._head[:100].decode("latin-1")))


async def echoes(port: int, request: bytes, *, seconds: float, connections: int) -> Load:
    """All connections are open before the first message is sent."""
    loop = asyncio.get_running_loop()
    clients = [
        (await loop.create_connection(lambda: EchoClient(request), "127.0.0.1", port))[1] for _ in range(connections)
    ]
    async with asyncio.timeout(_START_SECONDS):
        await asyncio.gather(*(client.is_open for client in clients))
    started = time.perf_counter()
    for client in clients:
        client.send()
    await asyncio.sleep(seconds)
    lasted, failed = time.perf_counter() - started, sum(client.is_lost for client in clients)
    for client in clients:
        client.close()
    return Load(requests=sum(client.echoes for client in clients), seconds=lasted, failed=failed)


async def main() -> None:
    port, host, path, seconds, connections = sys.argv[1:]
    load = await echoes(int(port), handshake(host, path), seconds=float(seconds), connections=int(connections))
    print(msgspec.json.encode(load).decode())


if __name__ == "__main__":
    uvloop.run(main())
