"""Clients that begin TLS handshakes and never go on, as cheaply as they can."""

from __future__ import annotations

import asyncio
import socket
import ssl


def client_hello(server_name: str, group: str = "") -> bytes:
    """What a client says first if it asks for `server_name`, with a key for this group alone; empty: the usual ones."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # no authorities, which take 40 ms to read
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if group:
        context.set_ecdh_curve(group)
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=server_name)
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()
    raise AssertionError("a handshake cannot be over before anybody has answered")


class Stalling:
    """Connections from `address` that send a ClientHello each and read nothing. Use it as a context."""

    def __init__(self, port: int, server_name: str, *, address: str = "127.0.0.2") -> None:
        self._port, self._address = port, address
        self._hello = client_hello(server_name)
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> Stalling:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._sockets:
            each.close()

    async def begin(self, count: int) -> None:
        """Begins `count` more handshakes."""
        loop = asyncio.get_running_loop()
        for _ in range(count):
            connection = socket.socket()
            self._sockets.append(connection)
            connection.setblocking(False)
            # A small window, so that what the other side sends stays there.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            connection.bind((self._address, 0))
            await loop.sock_connect(connection, ("127.0.0.1", self._port))
            await loop.sock_sendall(connection, self._hello)

    @property
    def ended(self) -> int:
        """How many of them the other side has ended."""
        return sum(map(_has_ended, self._sockets))


def _has_ended(connection: socket.socket) -> bool:
    try:
        while received := connection.recv(1 << 16, socket.MSG_DONTWAIT):
            del received
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
