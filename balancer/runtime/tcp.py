"""Carries plain TCP with less work than the transports of an event loop: all sockets are in one edge-triggered epoll.

One event of the loop stands for all sockets that are ready. A socket is registered once, and once more if its peer ever
leaves bytes waiting: room to write, which a new socket has, would be an event of every connection for nothing. Reads
into the buffer of `reading`, and sends as `outlets` does. Does not know TLS, nor what the bytes mean.
"""

from __future__ import annotations

import asyncio
import errno
import select
import socket
from contextlib import suppress
from typing import Any

from balancer.runtime import calls
from balancer.runtime.accepted import AcceptedSocket, AnySocket, whole
from balancer.runtime.outlets import Outlet, Outlets
from balancer.runtime.reading import MEMORY, Peeks, ReadsPieces

_EVENTS_A_TURN = 256  # the rest waits for the next turn of the loop
# After these, a short read does not say that no more has come: the end of the stream, an error, or an urgent byte.
_ENDS = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR | select.EPOLLPRI
_READABLE = select.EPOLLIN | _ENDS
_WRITABLE = select.EPOLLOUT
_BROKEN = select.EPOLLERR
_INCOMING = select.EPOLLIN  # nearly every event is this alone
_READS = _READABLE | select.EPOLLET
_ALL = _READS | _WRITABLE
_AGAIN, _INTERRUPTED = -errno.EAGAIN, -errno.EINTR


class TcpTransports:
    """Makes the transports of one event loop, and serves those whose sockets are ready."""

    __slots__ = ("_epoll", "_loop", "_open", "_outlets", "_ready")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._epoll = select.epoll()
        self._ready = calls.room_for(_EVENTS_A_TURN)
        self._open: list[TcpTransport | None] = []  # by descriptor
        self._outlets = Outlets(loop, self._epoll, self._open, _ALL)
        loop.add_reader(self._epoll.fileno(), self._serve)

    def open(self, connection: AnySocket, protocol: ReadsPieces | Peeks, peeked_most: int = 0) -> TcpTransport:
        """Takes over a connected socket and calls `connection_made` at once. Raises OSError if the socket is gone.

        One that was accepted does not block, and has TCP_NODELAY from its listener. With `peeked_most`, `Peeks` sees as
        much of what comes until `TcpTransport.hand_to`; such a connection was accepted.
        """
        if not isinstance(connection, AcceptedSocket):
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        descriptor = connection.fileno()
        self._epoll.register(descriptor, _READS)
        outlets, opened = self._outlets, self._open
        transport = TcpTransport(outlets, self._loop, connection, protocol, peeked_most)
        if descriptor >= len(opened):
            opened.extend([None] * (descriptor + 1 - len(opened)))
        opened[descriptor] = transport
        protocol.connection_made(transport)  # type: ignore[arg-type]  # as with uvloop's
        return transport

    def _serve(self) -> None:
        outlets, transports, ready = self._outlets, self._open, self._ready
        outlets.is_serving = True
        for number in range(calls.ready(self._epoll, ready, _EVENTS_A_TURN)):
            descriptor, events = calls.event_at(ready, number)
            transport = transports[descriptor]
            if transport is not None:
                try:
                    if events == _INCOMING:
                        transport.read()
                    else:
                        transport.serve(events)
                except Exception as error:
                    outlets.failed(transport, error)
        outlets.catch_up()


class TcpTransport(Outlet):
    """One connection, with the methods of `asyncio.Transport` that zonal calls."""

    __slots__ = ("_is_at_end", "_is_reading", "_peeked_most", "_reads_on")

    def __init__(
        self,
        outlets: Outlets,
        loop: asyncio.AbstractEventLoop,
        connection: AnySocket,
        protocol: ReadsPieces | Peeks,
        peeked_most: int,
    ) -> None:
        self._set_up(outlets, loop, connection, connection.fileno(), protocol)
        self._peeked_most = peeked_most  # 0: what comes is read
        self._is_reading = True
        self._is_at_end = False
        self._reads_on = False

    # What the protocol calls.

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        if not self._is_reading:
            self._is_reading = True
            self._loop.call_soon(self.read)  # what has come meanwhile is no new edge

    def has_unread(self) -> bool:
        """Whether the peer has said anything that was not read yet, and be it its end."""
        return calls.has_unread(self._descriptor)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """`socket` and `peername`, as `asyncio.BaseTransport` tells them."""
        with suppress(OSError):
            if name == "socket":
                return whole(self._socket)
            if name == "peername":
                return whole(self._socket).getpeername()
        return default

    def set_protocol(self, protocol: ReadsPieces) -> None:
        """From now on `protocol` is told in place of the former one."""
        self._protocol = protocol

    def hand_to(self, protocol: ReadsPieces) -> None:
        """From now on `protocol` reads, if nothing was taken before. What has come already waits for `read_now`."""
        self._peeked_most = 0
        self._protocol = protocol
        protocol.connection_made(self)  # type: ignore[arg-type]  # as in `open`

    # What the epoll calls.

    def serve(self, events: int) -> None:
        """The socket has become ready for `events`."""
        if events & _ENDS:
            self._reads_on = True
            if events & _BROKEN and self._is_at_end:  # no read would tell of it any more
                self._fail(errno.ECONNRESET)
        if events & _WRITABLE and self._next:
            self.send()
        if events & _READABLE:
            self.read()

    def read(self) -> None:
        """Hands on what has come: one full piece, or all."""
        if self._peeked_most:
            self._peek()
            return
        while self._is_reading and not self._is_at_end and not self._is_closing:
            protocol = self._protocol
            piece = protocol.get_buffer(-1)
            size = len(piece)
            count = calls.receive(self._descriptor, MEMORY, piece, size)
            if count > 0:
                protocol.buffer_updated(count)
                if count == size:
                    self._loop.call_soon(self.read)  # others come first
                    return
                if not self._reads_on:
                    return
            elif count == 0:
                self._is_at_end = True
                if not protocol.eof_received():
                    self.close()
            elif count == _AGAIN:
                return
            elif count != _INTERRUPTED:
                self._fail(-count)

    def _peek(self) -> None:
        if not self._is_closing:
            protocol = self._protocol
            ahead = calls.peek(self._socket, MEMORY, self._peeked_most)  # type: ignore[arg-type]  # an accepted one
            protocol.peeked(ahead, self._reads_on)

    def read_now(self) -> None:
        """Reads what is known to have come, without waiting for an event."""
        try:
            self.read()
        except Exception as error:
            outlets = self._outlets
            outlets.failed(self, error)
