"""Carries plain TCP with less work than the transports of an event loop: all sockets are in one edge-triggered epoll.

One event of the loop stands for all sockets that are ready. A socket is registered once, and once more if its peer ever
leaves bytes waiting: room to write, which a new socket has, would be an event of every connection for nothing.
What is written while sockets are served is sent before the loop polls again, in one piece for each socket. Reads into
the buffer of `reading`. Does not know TLS, nor what the bytes mean.
"""

from __future__ import annotations

import asyncio
import errno
import os
import select
import socket
from contextlib import suppress
from typing import Any

from balancer.runtime import calls
from balancer.runtime.accepted import AcceptedSocket, AnySocket, whole
from balancer.runtime.reading import MEMORY, Peeks, ReadsPieces

_EVENTS_A_TURN = 256  # the rest waits for the next turn of the loop
# After these, a short read does not say that no more has come: the end of the stream, an error, or an urgent byte.
_ENDS = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR | select.EPOLLPRI
_READABLE = select.EPOLLIN | _ENDS
_WRITABLE = select.EPOLLOUT
_INCOMING = select.EPOLLIN  # nearly every event is this alone
_READS = _READABLE | select.EPOLLET
_ALL = _READS | _WRITABLE
_AGAIN, _INTERRUPTED = -errno.EAGAIN, -errno.EINTR
_NOBODY = ReadsPieces()  # in place of the protocol of a connection that is lost
_JOINED_BYTES = 16 * 1024  # up to here, a copy costs less than one more system call


class TcpTransports:
    """Makes the transports of one event loop, and serves those whose sockets are ready."""

    __slots__ = ("_epoll", "_loop", "_open", "_ready", "is_serving", "unsent")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._epoll = select.epoll()
        self._ready = calls.room_for(_EVENTS_A_TURN)
        self._open: list[TcpTransport | None] = []  # by descriptor
        # The last that sends when all sockets that are ready have been served. It knows the one before, without a list.
        self.unsent: TcpTransport | None = None
        self.is_serving = False
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
        transport, opened = TcpTransport(self, self._loop, connection, protocol, peeked_most), self._open
        if descriptor >= len(opened):
            opened.extend([None] * (descriptor + 1 - len(opened)))
        opened[descriptor] = transport
        protocol.connection_made(transport)  # type: ignore[arg-type]  # as with uvloop's
        return transport

    def forget(self, descriptor: int) -> None:
        """The transport with this descriptor has ended."""
        self._open[descriptor] = None

    def watch_room(self, descriptor: int) -> None:
        """From now on its transport hears when there is room to write again, also if there is by now."""
        self._epoll.modify(descriptor, _ALL)

    def _serve(self) -> None:
        self.is_serving = True
        transports, ready = self._open, self._ready
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
                    self._failed(transport, error)
        self.is_serving = False
        unsent = self.unsent
        self.unsent = None
        while unsent is not None:
            before = unsent._unsent_before
            unsent._unsent_before = None
            unsent._is_listed = False
            try:
                unsent.send()
            except Exception as error:
                self._failed(unsent, error)
            unsent = before

    def _failed(self, transport: TcpTransport, error: Exception) -> None:
        """A protocol has made a mistake, which must not keep others from their events: no edge comes twice."""
        self._loop.call_exception_handler({"message": "a protocol failed", "exception": error})
        transport.abort()


class TcpTransport:
    """One connection, with the methods of `asyncio.Transport` that zonal calls.

    `connection_lost` is called once, by the loop and never during a call of a method.
    """

    __slots__ = (
        "_descriptor",
        "_following",
        "_high",
        "_is_at_end",
        "_is_closing",
        "_is_eof_wanted",
        "_is_listed",
        "_is_losing",
        "_is_paused",
        "_is_reading",
        "_is_room_watched",
        "_loop",
        "_low",
        "_next",
        "_peeked_most",
        "_protocol",
        "_reads_on",
        "_sent",
        "_size",
        "_socket",
        "_transports",
        "_unsent_before",
    )

    _protocol: Any  # ReadsPieces, or Peeks before `hand_to`

    def __init__(
        self,
        transports: TcpTransports,
        loop: asyncio.AbstractEventLoop,
        connection: AnySocket,
        protocol: ReadsPieces | Peeks,
        peeked_most: int,
    ) -> None:
        self._transports = transports
        self._loop = loop
        self._socket = connection
        self._protocol = protocol
        self._peeked_most = peeked_most  # 0: what comes is read
        self._descriptor = connection.fileno()
        # Mostly one piece waits. A list of it would take and free memory for each.
        self._next = b""
        self._following: list[bytes] = []
        self._unsent_before: TcpTransport | None = None
        self._sent = 0
        self._size = 0
        self._high = 0
        self._low = 0
        self._is_reading = True
        self._is_room_watched = False
        self._is_at_end = False
        self._is_closing = False
        self._is_eof_wanted = False
        self._is_listed = False
        self._is_losing = False
        self._is_paused = False
        self._reads_on = False

    # What the protocol calls.

    def write(self, data: bytes) -> None:
        """Sends `data`, as soon as the kernel takes them. A transport that closes drops them."""
        if self._is_closing or not data:
            return
        transports = self._transports
        if self._next:
            self._following.append(data)
        else:
            self._next = data
        self._size += len(data)
        if not transports.is_serving or self._size > _JOINED_BYTES:
            self.send()
        elif not self._is_listed:
            self._is_listed = True
            self._unsent_before = transports.unsent
            transports.unsent = self

    def write_eof(self) -> None:
        """Ends the stream to the peer behind what was written."""
        self._is_eof_wanted = True
        if not self._next:
            self._end_output()

    def can_write_eof(self) -> bool:
        """TCP has half-closed connections."""
        return True

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        if not self._is_reading:
            self._is_reading = True
            self._loop.call_soon(self.read)  # what has come meanwhile is no new edge

    def set_write_buffer_limits(self, high: int, low: int) -> None:
        """`pause_writing` is called above `high` unsent bytes, and then `resume_writing` at `low`."""
        self._high = high
        self._low = low

    def get_write_buffer_size(self) -> int:
        """The bytes that the kernel did not take yet."""
        return self._size

    def is_closing(self) -> bool:
        return self._is_closing

    def has_unread(self) -> bool:
        """Whether the peer has said anything that was not read yet, and be it its end."""
        return calls.has_unread(self._descriptor)

    def close(self) -> None:
        """Ends the connection when all was sent. Reads no more."""
        if not self._is_closing:
            self._is_closing = True
            if not self._next:
                self._lose_soon(None)

    def abort(self) -> None:
        """Ends the connection and drops what was not sent."""
        self._is_closing = True
        self._drop()
        self._lose_soon(None)

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
            transports = self._transports
            transports._failed(self, error)

    def send(self) -> None:
        """Sends what was written, as far as the kernel takes it now."""
        following = self._following
        if not self._next:
            return
        while self._next:
            if following and self._size <= _JOINED_BYTES:
                self._next += b"".join(following)
                following.clear()
            data, start = self._next, self._sent
            count = calls.send(self._descriptor, data, start)
            if count == self._size:  # as nearly always, this was all
                self._sent = 0
                self._size = 0
                self._next = b""
            elif count >= 0:
                self._size -= count
                self._sent = start + count
                if self._sent == len(data):
                    self._sent = 0
                    self._next = following.pop(0) if following else b""
                else:
                    self._watch_room()
                    break
            elif count == _AGAIN:
                self._watch_room()
                break
            elif count != _INTERRUPTED:
                self._fail(-count)
                return
        if self._next or self._is_paused or self._is_closing or self._is_eof_wanted:
            self._tell()

    def _watch_room(self) -> None:
        if not self._is_room_watched:
            self._is_room_watched = True
            transports = self._transports
            transports.watch_room(self._descriptor)

    def _tell(self) -> None:
        """Tells the protocol whether to write on, and ends what was to end behind the last byte."""
        protocol = self._protocol
        if self._is_paused:
            if self._size <= self._low:
                self._is_paused = False
                protocol.resume_writing()
        elif self._size > self._high:
            self._is_paused = True
            protocol.pause_writing()
        if not self._next:
            if self._is_closing:
                self._lose_soon(None)
            elif self._is_eof_wanted:
                self._end_output()

    def _end_output(self) -> None:
        with suppress(OSError):  # the peer may have cut the connection
            whole(self._socket).shutdown(socket.SHUT_WR)

    def _drop(self) -> None:
        self._next = b""
        self._following.clear()
        self._sent = 0
        self._size = 0

    def _fail(self, number: int) -> None:
        self._is_closing = True
        self._drop()
        self._lose_soon(OSError(number, os.strerror(number)))

    def _lose_soon(self, error: OSError | None) -> None:
        if not self._is_losing:
            self._is_losing = True
            self._loop.call_soon(self._lose, error)

    def _lose(self, error: OSError | None) -> None:
        protocol = self._protocol  # which breaks the reference cycle
        self._protocol = _NOBODY
        transports = self._transports
        transports.forget(self._descriptor)
        try:
            protocol.connection_lost(error)
        finally:
            self._socket.close()
