"""A client that leaves much unread over HTTP/1.1 loses its answers, and takes none from one that reads slowly."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.features.faults.load import HOST
from tests.features.tenants.neighbours import Tenant, neighbours
from tests.integration.running import until

_SIZE = 6 * 1024 * 1024  # more than the kernel keeps for a connection
_GET = f"GET /modest/big HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()
_GREEDY, _SLOW = "127.0.0.2", "127.0.0.3"


async def _answers_much(visit: Visit) -> None:
    while await visit.head():
        await visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % _SIZE + bytes(_SIZE))


class _Reader:
    """A client that reads nothing unless it is told to; `narrow`: it has little room in its kernel, too."""

    def __init__(self, address: str, *, narrow: bool) -> None:
        self.socket = socket.socket()
        self.socket.setblocking(False)
        if narrow:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.bind((address, 0))

    async def ask(self, port: int) -> None:
        loop = asyncio.get_running_loop()
        await loop.sock_connect(self.socket, ("127.0.0.1", port))
        await loop.sock_sendall(self.socket, _GET)

    @property
    def was_cut(self) -> bool:
        """Whether the connection was reset. Reads nothing."""
        return self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0

    async def rest(self) -> bytes:
        """All that comes until the body is whole. Raises ConnectionResetError."""
        loop, read = asyncio.get_running_loop(), bytearray()
        while len(read) < _SIZE or len(read) < read.find(b"\r\n\r\n") + 4 + _SIZE:
            data = await loop.sock_recv(self.socket, 1 << 20)
            if not data:
                break
            read += data
        return bytes(read.partition(b"\r\n\r\n")[2])


@asynccontextmanager
async def _readers(address: str, count: int, *, narrow: bool) -> AsyncIterator[list[_Reader]]:
    readers = [_Reader(address, narrow=narrow) for _ in range(count)]
    try:
        yield readers
    finally:
        for reader in readers:
            reader.socket.close()


async def test_a_client_that_leaves_much_unread_takes_nothing_from_one_that_reads_slowly(
    tmp_path: Path,
) -> None:
    async with ScriptedEndpoint(_answers_much) as endpoint:
        modest = Tenant("modest", [endpoint])
        async with (
            neighbours(tmp_path, modest, http2_max_unread_size="1m", proxy_send_timeout="60") as zonal,
            _readers(_SLOW, 1, narrow=False) as (slow,),
            _readers(_GREEDY, 40, narrow=True) as greedy,
        ):
            await slow.ask(zonal.http_port)
            for reader in greedy:
                await reader.ask(zonal.http_port)
            await until(lambda: any(reader.was_cut for reader in greedy), seconds=30.0)
            assert len(await slow.rest()) == _SIZE
            assert any(not reader.was_cut for reader in greedy), "a client at the bound keeps what there is room for"
            lines = [json.loads(line) for line in zonal.access_lines if '"error":"unread"' in line.replace(" ", "")]
            assert {line["client"] for line in lines} == {_GREEDY}
