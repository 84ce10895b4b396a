"""Runs one end of the stream between the parent and a worker, on an event loop.

Never blocks and never takes the loop for long: it delivers one message in each turn of the loop, and reads nothing more
until then. Does not know what messages mean.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from balancer.workers.messages import BrokenChannel, Decodes, MessageReader

_READ_BYTES: Final = 256 * 1024  # more than a socket holds, and copied in tens of microseconds

_Received = TypeVar("_Received")


class Channel(Generic[_Received]):
    """Sends frames (`messages.encode`) and delivers messages until one side ends the channel.

    Must be made inside the running loop.
    """

    __slots__ = (
        "_connection",
        "_loop",
        "_on_end",
        "_on_message",
        "_on_written",
        "_pending",
        "_reader",
        "_reads_no_more",
    )

    def __init__(
        self,
        connection: socket.socket,
        decoder: Decodes[_Received],
        *,
        on_message: Callable[[_Received], None],
        on_end: Callable[[str], None],
        on_written: Callable[[], None] | None = None,
    ) -> None:
        """`connection` is a stream socket, which the channel owns from then on. `decoder` decodes the messages to this
        side.

        `on_end` is called once with the reason if the other side or a broken message ends the channel, never for
        `close`. `on_written` is called whenever everything pending has been written. A sender with more to say then
        sends the next part, or something newer.
        """
        connection.setblocking(False)
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._reader = MessageReader(decoder)
        self._on_message = on_message
        self._on_end = on_end
        self._on_written = on_written
        self._pending = bytearray()
        self._reads_no_more = False
        self._loop.add_reader(connection, self._read)

    @property
    def pending_bytes(self) -> int:
        """Bytes that were sent and for which the other side has not made room yet."""
        return len(self._pending)

    def send(self, frame: bytes) -> None:
        """Writes `frame` after everything that was sent before. Has no effect once the channel has ended."""
        if self._is_closed:
            return
        if self._pending:
            self._pending += frame
            return
        written = self._write(frame)
        if written < len(frame):
            self._pending += memoryview(frame)[written:]
            self._loop.add_writer(self._connection, self._write_pending)

    def close(self) -> None:
        """Ends the channel. Pending bytes are lost."""
        if not self._is_closed:
            self._loop.remove_reader(self._connection)
            self._loop.remove_writer(self._connection)
            self._connection.close()
            self._pending.clear()

    @property
    def _is_closed(self) -> bool:
        return self._connection.fileno() < 0

    def _read(self) -> None:
        try:
            data = self._connection.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(error.strerror or str(error))
            return
        if not data:
            self._end("the other side has closed it")
            return
        self._reader.feed(data)
        self._deliver()

    def _deliver(self) -> None:
        """Delivers the next message. If another one waits, it is delivered in the loop's next turn."""
        if self._is_closed:
            return
        try:
            message = self._reader.next_message()
            has_more = self._reader.has_whole()
        except BrokenChannel as error:
            self._end(str(error))
            return
        if has_more != self._reads_no_more:
            self._reads_no_more = has_more
            if has_more:
                self._loop.remove_reader(self._connection)
            else:
                self._loop.add_reader(self._connection, self._read)
        if has_more:
            self._loop.call_soon(self._deliver)
        if message is not None:
            self._on_message(message)

    def _write_pending(self) -> None:
        del self._pending[: self._write(self._pending)]
        if not self._pending:
            self._loop.remove_writer(self._connection)
            if self._on_written is not None:
                self._on_written()

    def _write(self, data: bytes | bytearray) -> int:
        """The number of bytes that are done with: the socket has taken them, or will never take any."""
        try:
            return self._connection.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            return len(data)  # reading is about to fail likewise, and ends the channel there

    def _end(self, reason: str) -> None:
        self.close()
        self._on_end(reason)
