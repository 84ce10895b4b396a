"""The event loop alone: passes bytes between a client and an endpoint, and reads none of them.

No proxy, but the least that one on this loop can cost: the system's share, and that of uvloop with its TLS. Arguments
are those of `plain_proxy`. Runs until killed.
"""

from __future__ import annotations

import asyncio
import itertools
import ssl
import sys
from collections.abc import Iterator
from typing import cast

import uvloop


class _Endpoint(asyncio.Protocol):
    def __init__(self, client: asyncio.Transport) -> None:
        self._client = client

    def data_received(self, data: bytes) -> None:
        self._client.write(data)

    def connection_lost(self, error: Exception | None) -> None:
        self._client.close()


class _Client(asyncio.Protocol):
    """Each connection has one to the next endpoint, for as long as it lasts."""

    def __init__(self, ports: Iterator[int]) -> None:
        self._port = next(ports)
        self._endpoint: asyncio.Transport | None = None
        self._waiting: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._opening = asyncio.ensure_future(self._open(cast("asyncio.Transport", transport)))

    def data_received(self, data: bytes) -> None:
        if self._endpoint is None:
            self._waiting.append(data)
        else:
            self._endpoint.write(data)

    def connection_lost(self, error: Exception | None) -> None:
        if self._endpoint is not None:
            self._endpoint.close()

    async def _open(self, client: asyncio.Transport) -> None:
        loop = asyncio.get_running_loop()
        self._endpoint, _ = await loop.create_connection(lambda: _Endpoint(client), "127.0.0.1", self._port)
        self._endpoint.writelines(self._waiting)


async def main() -> None:
    http_port, https_port, certificate, key, _, *ports = sys.argv[1:]
    endpoints = itertools.cycle(map(int, ports))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    loop = asyncio.get_running_loop()
    await loop.create_server(lambda: _Client(endpoints), "127.0.0.1", int(http_port), backlog=4096)
    await loop.create_server(lambda: _Client(endpoints), "127.0.0.1", int(https_port), ssl=context, backlog=4096)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(main())
