"""The WebSocket endpoint behind every contender: answers each message of 128 bytes with as many.

It knows the size of a message and counts bytes, so it costs the same behind all. Argument: port. Runs until killed.
"""

from __future__ import annotations

import asyncio
import sys
from typing import cast

import uvloop

from tests.bench.peers.loads.frames import ANSWER_FRAME, REQUEST_FRAME, acceptance


class EchoEndpoint(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._head: bytes | None = b""
        self._pending = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        if self._head is not None:
            self._head += data
            if b"\r\n\r\n" not in self._head:
                return
            self._transport.write(acceptance(self._head))
            data, self._head = self._head.partition(b"\r\n\r\n")[2], None
        whole, self._pending = divmod(self._pending + len(data), len(REQUEST_FRAME))
        if whole:
            self._transport.write(ANSWER_FRAME * whole)


async def main() -> None:
    listening = await asyncio.get_running_loop().create_server(EchoEndpoint, "127.0.0.1", int(sys.argv[1]))
    await listening.serve_forever()


if __name__ == "__main__":
    uvloop.run(main())
