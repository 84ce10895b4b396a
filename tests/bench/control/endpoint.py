"""The endpoints: two ports on all addresses, each of which answers every request with its number.

Runs as a process of its own and says the two ports on standard output. Standard input at its end ends it.
"""

from __future__ import annotations

import asyncio
import sys
from functools import partial

from tests.bench.control.processes import go_first


class _Answering(asyncio.Protocol):
    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        # The requests have no bodies, and one proxy connection carries one at a time.
        if data.endswith(b"\r\n\r\n") and self._transport is not None:
            self._transport.write(self._answer)


async def main() -> None:
    """Serve until standard input ends."""
    loop = asyncio.get_running_loop()
    ports = []
    for name in (b"a", b"b"):
        answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\n" + name
        server = await loop.create_server(partial(_Answering, answer), "0.0.0.0", 0, backlog=4096)
        ports.append(server.sockets[0].getsockname()[1])
    print(*ports, flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    go_first()
    asyncio.run(main())
