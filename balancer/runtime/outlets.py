"""Sends what was written to sockets, as far as the kernel takes it, and ends connections.

What is written while sockets are served is sent when all of them have been served, in one piece for each. Connections
that end meanwhile end then, too, without a turn of the loop for each. Does not read.
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
from balancer.runtime.accepted import AnySocket, whole
from balancer.runtime.reading import Peeks, ReadsPieces

_AGAIN, _INTERRUPTED = -errno.EAGAIN, -errno.EINTR
_NOBODY = ReadsPieces()  # in place of the protocol of a connection that is lost
_JOINED_BYTES = 16 * 1024  # up to here, a copy costs less than one more system call


class Outlets:
    """What the sockets of one event loop have yet to do when those that are ready have been served.

    `is_serving`: that will be looked at soon. `unsent` is the last that sends then. It knows the one before, without a
    list.
    """

    __slots__ = ("_epoll", "_loop", "_lost", "_opened", "_with_room", "is_serving", "unsent")

    def __init__(self, loop: asyncio.AbstractEventLoop, epoll: select.epoll, opened: list[Any], with_room: int) -> None:
        """`opened` has the connections of `epoll` by descriptor, and None in place of one that has ended. A socket that
        waits for room is watched for the events `with_room`.
        """
        self._loop = loop
        self._epoll = epoll
        self._opened = opened
        self._with_room = with_room
        self._lost: list[Outlet] = []
        self.unsent: Outlet | None = None
        self.is_serving = False

    def forget(self, descriptor: int) -> None:
        """The connection with this descriptor has ended."""
        self._opened[descriptor] = None

    def watch_room(self, descriptor: int) -> None:
        """From now on this socket hears when there is room to write again, also if there is by now."""
        self._epoll.modify(descriptor, self._with_room)

    def lose(self, outlet: Outlet) -> None:
        """Ends a connection that has failed at nothing, after all that is called now."""
        if self.is_serving:
            self._lost.append(outlet)
        else:
            self._loop.call_soon(outlet.lose, None)

    def catch_up(self) -> None:
        """Sends what was written, and ends what was to end, while sockets were served."""
        lost = self._lost
        while self.unsent is not None or lost:
            unsent = self.unsent
            self.unsent = None
            while unsent is not None:
                before = unsent._unsent_before
                unsent._unsent_before = None
                unsent._is_listed = False
                try:
                    unsent.send()
                except Exception as error:
                    self.failed(unsent, error)
                unsent = before
            while lost:
                outlet = lost.pop()
                try:
                    outlet.lose(None)
                except Exception as error:
                    self.failed(outlet, error)
        self.is_serving = False

    def failed(self, outlet: Outlet, error: Exception) -> None:
        """A protocol has made a mistake, which must not keep others from their events: no edge comes twice."""
        self._loop.call_exception_handler({"message": "a protocol failed", "exception": error})
        outlet.abort()


class Outlet:
    """The half of a transport that writes to its socket and closes it.

    `connection_lost` is called once, and never during a call of a method.
    """

    __slots__ = (
        "_descriptor",
        "_following",
        "_high",
        "_is_closing",
        "_is_eof_wanted",
        "_is_listed",
        "_is_losing",
        "_is_paused",
        "_is_room_watched",
        "_loop",
        "_low",
        "_next",
        "_outlets",
        "_protocol",
        "_sent",
        "_size",
        "_socket",
        "_unsent_before",
    )

    _protocol: Any  # ReadsPieces, or Peeks before `hand_to`

    def _set_up(
        self,
        outlets: Outlets,
        loop: asyncio.AbstractEventLoop,
        connection: AnySocket,
        descriptor: int,
        protocol: ReadsPieces | Peeks,
    ) -> None:
        """Begins with nothing to send. Subclasses call it in place of `__init__`, which costs every connection more."""
        self._outlets = outlets
        self._loop = loop
        self._socket = connection
        self._protocol = protocol
        self._descriptor = descriptor
        # Mostly one piece waits. A list of it would take and free memory for each.
        self._next = b""
        self._following: list[bytes] = []
        self._unsent_before: Outlet | None = None
        self._sent = 0
        self._size = 0
        self._high = 0
        self._low = 0
        self._is_room_watched = False
        self._is_closing = False
        self._is_eof_wanted = False
        self._is_listed = False
        self._is_losing = False
        self._is_paused = False

    # What the protocol calls.

    def write(self, data: bytes) -> None:
        """Sends `data`, as soon as the kernel takes them. A transport that closes drops them."""
        if self._is_closing or not data:
            return
        outlets = self._outlets
        if self._next:
            self._following.append(data)
        else:
            self._next = data
        self._size += len(data)
        if not outlets.is_serving or self._size > _JOINED_BYTES:
            self.send()
        elif not self._is_listed:
            self._is_listed = True
            self._unsent_before = outlets.unsent
            outlets.unsent = self

    def write_eof(self) -> None:
        """Ends the stream to the peer behind what was written."""
        self._is_eof_wanted = True
        if not self._next:
            self._end_output()

    def can_write_eof(self) -> bool:
        """TCP has half-closed connections."""
        return True

    def set_write_buffer_limits(self, high: int, low: int) -> None:
        """`pause_writing` is called above `high` unsent bytes, and then `resume_writing` at `low`."""
        self._high = high
        self._low = low

    def get_write_buffer_size(self) -> int:
        """The bytes that the kernel did not take yet."""
        return self._size

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        """Ends the connection when all was sent. Reads no more."""
        if not self._is_closing:
            self._is_closing = True
            if not self._next:
                self._lose_soon()

    def abort(self) -> None:
        """Ends the connection and drops what was not sent."""
        self._is_closing = True
        self._drop()
        self._lose_soon()

    # What the outlets call.

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
            is_last, descriptor = self._is_closing and not following, self._descriptor
            count = calls.send_last(descriptor, data, start) if is_last else calls.send(descriptor, data, start)
            if count == self._size:  # as nearly always, this was all
                self._sent = 0
                self._size = 0
                self._next = b""
            elif count >= 0:
                self._size -= count
                self._sent = start + count
                if self._sent == len(data):
                    self._sent = 0
                    self._next = following.pop(0)
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

    def lose(self, error: OSError | None) -> None:
        """Tells the protocol that the connection has ended, and closes it."""
        protocol = self._protocol  # which breaks the reference cycle
        self._protocol = _NOBODY
        outlets = self._outlets
        outlets.forget(self._descriptor)
        try:
            protocol.connection_lost(error)
        finally:
            self._socket.close()

    def _watch_room(self) -> None:
        if not self._is_room_watched:
            self._is_room_watched = True
            outlets = self._outlets
            outlets.watch_room(self._descriptor)

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
                self._lose_soon()
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
        if not self._is_losing:
            self._is_losing = True
            self._loop.call_soon(self.lose, OSError(number, os.strerror(number)))

    def _lose_soon(self) -> None:
        if not self._is_losing:
            self._is_losing = True
            outlets = self._outlets
            outlets.lose(self)
