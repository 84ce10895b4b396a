"""Accepts connections: bounds their number, reads PROXY headers and does TLS handshakes.

Accepts on its own and not with the event loop's listeners, because a PROXY header comes before the handshake, and
because the limit must include connections in their handshake. Does not know requests or routes.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from balancer.connections.clienthello import NO_APPLICATION_PROTOCOL, RECORD_BYTES_MAX, Hello, read_hello, server_name
from balancer.connections.proxyprotocol import HEADER_BYTES_MAX, InvalidHeader, ProxyHeader, read_proxy_header
from balancer.http.current import CurrentSettings
from balancer.http1.connection import ClientConnection
from balancer.model.settings import ProxySettings
from balancer.runtime.deadlines import Deadlines
from balancer.runtime.transports import plain_address

_LOG = logging.getLogger(__name__)

_AT_ONCE = 16  # connections accepted before the loop turns to others; a burst must not delay requests in flight
_PAUSE_SECONDS = 0.5  # without descriptors: long enough for some to be freed, and half of what clients notice
_LEAST_HANDSHAKE_SECONDS = 0.01
_EXHAUSTED = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))


class Asking(Protocol):
    """Knows for which names clients are asked for certificates."""

    @property
    def asks(self) -> bool:
        """Whether there is any such name."""

    def context_for(self, server_name: str | None) -> ssl.SSLContext | None:
        """The context of a handshake for a name as the client sent it; None if the usual one will do."""


class Reception:
    """Takes in connections for one worker and hands over each one that is ready for requests.

    `settings` are read anew for each connection. `held` says how many were handed over and are still open, `bound` is
    the most that descriptors allow. `note` counts, by kind, connections that were not taken in. Without descriptors
    nothing is accepted for `pause_seconds`. `asking` chooses another context than `tls` where clients are asked for
    certificates.
    """

    def __init__(
        self,
        *,
        settings: CurrentSettings,
        deadlines: Deadlines,
        tls: ssl.SSLContext,
        held: Callable[[], int],
        bound: int,
        hand_over: Callable[[ClientConnection], None],
        note: Callable[[str], None],
        handshake_seconds: float,
        asking: Asking | None = None,
        pause_seconds: float = _PAUSE_SECONDS,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._settings = settings
        self._deadlines = deadlines
        self._tls = tls
        self._asking = asking
        self._held = held
        self._bound = bound
        self._hand_over = hand_over
        self._note = note
        self._handshake_seconds = handshake_seconds
        self._pause_seconds = pause_seconds
        self._listeners: list[socket.socket] = []
        self.arriving: set[asyncio.Task[Any]] = set()

    def listen(self, listener: socket.socket, *, secure: bool) -> None:
        """Accepts connections from a listening, non-blocking socket. `close` closes the socket."""
        self._listeners.append(listener)
        self._resume(listener, secure)

    def close(self) -> None:
        """Stops accepting. Arriving connections may continue."""
        for listener in self._listeners:
            self._loop.remove_reader(listener)
            listener.close()
        self._listeners.clear()

    def stop(self) -> None:
        """Stops accepting and drops arriving connections."""
        self.close()
        for task in self.arriving:
            task.cancel()

    def _resume(self, listener: socket.socket, secure: bool) -> None:
        if listener in self._listeners:
            self._loop.add_reader(listener, partial(self._accept, listener, secure=secure))

    def _accept(self, listener: socket.socket, *, secure: bool) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection, address = listener.accept()
            except OSError as error:
                if error.errno in _EXHAUSTED:
                    self._pause(listener, secure, error=error)
                return  # nobody waits, or the waiting client has left
            if self._held() + len(self.arriving) >= min(self._settings.proxy.client_connections, self._bound):
                self._note("connection_limit")
                connection.close()
                continue
            peer = plain_address(address[0])
            task = self._loop.create_task(self._welcome(connection, peer, secure=secure))
            self.arriving.add(task)
            task.add_done_callback(self.arriving.discard)

    def _pause(self, listener: socket.socket, secure: bool, *, error: OSError) -> None:
        """Stops watching the listener for a while. Otherwise the loop would be busy with connections that it cannot
        accept.
        """
        self._note("descriptors_exhausted")
        _LOG.warning("accepting pauses for %g s: %s", self._pause_seconds, error.strerror)
        self._loop.remove_reader(listener)
        self._loop.call_later(self._pause_seconds, self._resume, listener, secure)

    async def _welcome(self, connection: socket.socket, peer: str, *, secure: bool) -> None:
        settings = self._settings.proxy
        connection.setblocking(False)
        port = None
        try:
            if settings.proxy_protocol:
                header = await self._announced(connection, settings)
                peer, port = header.address or peer, header.port
        except (InvalidHeader, OSError):  # TimeoutError is one
            self._note("proxy_protocol")
            connection.close()
            return
        except asyncio.CancelledError:
            connection.close()
            raise
        handshake_until = self._loop.time() + self._handshake_seconds
        if secure and not await self._speaks_http(connection):
            self._note("tls_handshake")
            return
        tls = self._tls
        if secure and self._asking is not None and self._asking.asks:
            tls = self._asking.context_for(asked_name(connection)) or tls
        task = asyncio.current_task()
        assert task is not None
        client = ClientConnection(
            settings=self._settings,
            deadlines=self._deadlines,
            secure=secure,
            on_open=partial(self._opened, task),
            peer=peer,
            port=port,
        )
        with suppress(OSError):
            await self._connect(client, connection, tls, handshake_until=handshake_until)
            return
        self._note("tls_handshake")  # the transport has closed the connection

    def _opened(self, task: asyncio.Task[Any], client: ClientConnection) -> None:
        self.arriving.discard(task)  # from here on it is held
        self._hand_over(client)

    async def _announced(self, connection: socket.socket, settings: ProxySettings) -> ProxyHeader:
        async with asyncio.timeout(settings.proxy_protocol_timeout_seconds):
            return await receive_proxy_header(connection)

    async def _speaks_http(self, connection: socket.socket) -> bool:
        """Whether a TLS client offers HTTP/1.1 or names no protocols. Otherwise it was refused."""
        try:
            async with asyncio.timeout(self._handshake_seconds):
                protocols = await offered_protocols(connection)
            if not protocols or b"http/1.1" in protocols:
                return True
            connection.send(NO_APPLICATION_PROTOCOL)
            connection.shutdown(socket.SHUT_WR)
        except OSError:  # TimeoutError is one
            pass
        except asyncio.CancelledError:
            connection.close()
            raise
        connection.close()
        return False

    async def _connect(
        self, client: ClientConnection, connection: socket.socket, tls: ssl.SSLContext, *, handshake_until: float
    ) -> None:
        if client.secure:
            left_seconds = max(handshake_until - self._loop.time(), _LEAST_HANDSHAKE_SECONDS)
            await self._loop.connect_accepted_socket(
                lambda: client, connection, ssl=tls, ssl_handshake_timeout=left_seconds
            )
        else:
            await self._loop.connect_accepted_socket(lambda: client, connection)


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


async def offered_protocols(connection: socket.socket) -> tuple[bytes, ...]:
    """The protocols that a ClientHello offers. The ClientHello stays in the socket unless HTTP/1.1 is not among them.

    Anything but a whole ClientHello offers none. Raises OSError.
    """
    seen, hello, low_water = b"", Hello(needs_bytes=1), 1
    try:
        while True:
            with suppress(BlockingIOError):
                ahead = connection.recv(RECORD_BYTES_MAX, socket.MSG_PEEK)
                if len(ahead) <= len(seen):
                    return ()  # its end
                seen, hello = ahead, read_hello(ahead)
            if len(seen) >= hello.needs_bytes:
                break
            if hello.needs_bytes > low_water:
                # Level-triggered, and nothing is taken, so without this mark half a record would wake the loop
                # endlessly.
                low_water = hello.needs_bytes
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, low_water)
            await _readable(connection)
    finally:
        if low_water > 1:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
    if hello.protocols and b"http/1.1" not in hello.protocols:
        connection.recv(len(seen))  # closing with unread bytes would reset the connection and lose the alert
    return hello.protocols


def asked_name(connection: socket.socket) -> str | None:
    """The server name in the ClientHello that waits in the socket and stays there."""
    with suppress(OSError):
        return server_name(connection.recv(RECORD_BYTES_MAX, socket.MSG_PEEK))
    return None


async def _readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    news = loop.create_future()
    loop.add_reader(connection, _tell, news)
    try:
        await news
    finally:
        loop.remove_reader(connection)


def _tell(news: asyncio.Future[None]) -> None:
    if not news.done():
        news.set_result(None)
