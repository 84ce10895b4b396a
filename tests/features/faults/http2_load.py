"""The load of the matrix over HTTP/2: the same requests, many at a time on each connection."""

from __future__ import annotations

import asyncio

from tests.fakes.clients import Response
from tests.features.faults.crew import TracedLoad
from tests.features.faults.http2_clients import Http2Client, NotProcessedError

# Common clients have at least as much. With the 64 KiB that HTTP/2 begins with, fifty answers of that size take fifty
# round trips, of which each waits for a turn of the proxy and one of the client.
_WINDOW_BYTES = 1024 * 1024


class Http2Load(TracedLoad):
    """The same requests over HTTP/2, many at a time on each connection. `cut_ports` and `source` as there."""

    def __init__(self, port: int, *, prefix: str = "", source: str = "") -> None:
        super().__init__(port, prefix=prefix, source=source)
        self._clients: list[Http2Client] = []

    async def _answer(self, request: bytes) -> Response:
        self.sent += 1
        while True:
            client = await self._client()
            try:
                return await client.ask(request)
            except NotProcessedError:  # by a connection that goes away: a client sends it again (RFC 9113 6.8)
                continue
            except BaseException:
                self.cut_ports.append(client.port)
                raise

    async def _client(self) -> Http2Client:
        for client in self._clients:
            if client.has_room:
                return client
        try:
            _, client = await asyncio.get_running_loop().create_connection(
                lambda: Http2Client(window_bytes=_WINDOW_BYTES),
                "127.0.0.1",
                self._port,
                local_addr=(self._source, 0) if self._source else None,
            )
        except OSError:
            self.cut_ports.append(0)
            raise
        self._clients.append(client)
        return client

    def close(self) -> None:
        for client in self._clients:
            if client.transport is not None:
                client.transport.close()
        self._clients.clear()
