"""Looks at the first bytes of a connection while they stay in the socket, for whoever reads them next.

Only a PROXY header is taken out. Does not decide what follows from what it sees.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

from balancer.connections.clienthello import HELLO_BYTES_MAX
from balancer.connections.proxyprotocol import HEADER_BYTES_MAX, InvalidHeader, ProxyHeader, read_proxy_header
from balancer.http2.frames import PREFACE


async def receive_proxy_header(connection: socket.socket) -> ProxyHeader:
    """Reads a PROXY header, and no byte more, from a non-blocking socket. Raises `InvalidHeader` and OSError."""
    received = b""
    while True:
        await _readable(connection)
        with suppress(BlockingIOError):
            # Peeked first, because the bytes after the header belong to TLS or HTTP.
            ahead = connection.recv(HEADER_BYTES_MAX, socket.MSG_PEEK)
            if not ahead:
                raise InvalidHeader("no PROXY header")
            header = read_proxy_header(received + ahead)
            wanted = len(ahead) if header is None else header.length - len(received)
            received += connection.recv(wanted)
            if header is not None:
                return header


async def begins_http2(connection: socket.socket) -> bool:
    """Whether a connection begins with the preface of HTTP/2 (RFC 9113 3.4). Raises OSError."""
    low_water, seen = 1, b""
    try:
        while True:
            with suppress(BlockingIOError):
                ahead = connection.recv(len(PREFACE), socket.MSG_PEEK)
                if len(ahead) <= len(seen) or not PREFACE.startswith(ahead):
                    return False  # its end, or another protocol
                if len(ahead) == len(PREFACE):
                    return True
                seen, low_water = ahead, len(PREFACE)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, low_water)
            await _readable(connection)
    finally:
        if low_water > 1:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)


def refuse_hello(connection: socket.socket, alert: bytes) -> None:
    """Answers a ClientHello, which is still in the socket, with an alert, and ends the stream. Raises OSError."""
    with suppress(BlockingIOError):
        connection.recv(HELLO_BYTES_MAX)  # closing with unread bytes would reset the connection and lose the alert
    connection.send(alert)
    connection.shutdown(socket.SHUT_WR)


async def _readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    news = loop.create_future()
    descriptor = connection.fileno()
    loop.add_reader(descriptor, _tell, news)
    try:
        await news
    finally:
        loop.remove_reader(descriptor)


def _tell(news: asyncio.Future[None]) -> None:
    if not news.done():
        news.set_result(None)
