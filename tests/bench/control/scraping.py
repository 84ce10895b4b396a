"""Reads a page of metrics in pieces, because its reader shares a core with a worker, the clients and the endpoints.

Prometheus runs elsewhere. A reader that gathers tens of megabytes holds the core for milliseconds at a time, which
requests would then be charged with.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
from collections.abc import AsyncIterator

_PIECE_BYTES = 64 * 1024
_REQUEST = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
_HEAD_END = b"\r\n\r\n"


async def page_bytes(port: int) -> int:
    """How long the body of `/metrics` at a port of loopback is. Raises RuntimeError if the page is not there whole."""
    head, size = b"", 0
    async for piece in _pieces(port):
        if _HEAD_END in head:
            size += len(piece)
        else:
            head += piece
    head, _, begun = head.partition(_HEAD_END)
    size += len(begun)
    length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
    if not head.startswith(b"HTTP/1.1 200 ") or length is None or int(length[1]) != size:
        raise RuntimeError(f"no whole page: {size} bytes after {head!r}")
    return size


async def _pieces(port: int) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    with socket.socket() as connection:
        connection.setblocking(False)
        await loop.sock_connect(connection, ("127.0.0.1", port))
        await loop.sock_sendall(connection, _REQUEST)
        while piece := await loop.sock_recv(connection, _PIECE_BYTES):
            yield piece
            os.sched_yield()  # to the endpoints and the clients
