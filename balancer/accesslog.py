"""The access log of one event loop: a line for each request, written in batches to a pipe of its own.

Responsible for never delaying a request: what the pipe does not take at once is kept up to a bound, and beyond it lines
are dropped and counted. There is no thread here. It must not know what a line says, nor who reads the pipe.
"""

from __future__ import annotations

import asyncio
import os
import select
import time
from collections.abc import Callable
from typing import Final

from balancer.accesslines import AccessLogFormat, AccessRecord, line_format

# What a stalled reader may hold back: some 8,000 ordinary lines.
PENDING_BYTES_MAX: Final = 4 * 1024 * 1024

# Long enough to write many lines at once under load, too short to notice when following a log.
_LINGER_SECONDS: Final = 0.01

# What an unenlarged pipe takes at once when it is empty: to wait for more would only be to fill it in bursts.
_BATCH_BYTES: Final = 64 * 1024

_CLOSED: Final = -1
"""The bound of a log that takes no line any more."""

_NOTHING: Final = memoryview(b"")


class AccessLog:
    """Takes records and writes lines, all on the event loop that it was made in.

    `enabled`: whether lines are written at all; a record that nobody reads need not be made.
    """

    __slots__ = (
        "_bound_bytes",
        "_descriptor",
        "_flushing",
        "_line_of",
        "_lines",
        "_loop",
        "_on_dropped",
        "_pending_bytes",
        "_rest",
        "enabled",
    )

    def __init__(self, write_fd: int, format: AccessLogFormat, on_dropped: Callable[[int], None]) -> None:
        """Made inside the running loop, unless the format is `OFF`, which needs neither a loop nor a descriptor.

        `write_fd` is the write end of a pipe that nobody else writes to (a batch is no atomic write); it is made
        non-blocking, and stays the caller's to close. `on_dropped` is told how many lines were dropped.
        """
        self._descriptor = write_fd
        self._on_dropped = on_dropped
        self._line_of = line_format(format)
        self.enabled: Final = self._line_of is not None
        self._lines: list[bytes] = []
        self._rest = _NOTHING  # of a batch that the pipe took only in part; goes before `_lines`
        self._pending_bytes = 0  # of both
        self._bound_bytes = _BATCH_BYTES
        self._flushing: asyncio.TimerHandle | None = None
        if self.enabled:
            self._loop = asyncio.get_running_loop()
            os.set_blocking(write_fd, False)

    def write(self, record: AccessRecord) -> None:
        """Take one record; it is used up.

        The line is dropped, and `on_dropped` called, while the reader is too far behind, gone, or the log is closed.
        """
        if self._line_of is None:
            return
        if self._pending_bytes >= self._bound_bytes and not self._has_room():
            self._on_dropped(1)
            return
        line = self._line_of(record)
        self._lines.append(line)
        self._pending_bytes += len(line)
        if self._flushing is None:
            self._flushing = self._loop.call_later(_LINGER_SECONDS, self._flush)

    def close(self, timeout_seconds: float) -> None:
        """Write what is pending, blocking the loop for at most `timeout_seconds`; what is left counts as dropped."""
        if self._flushing is not None:
            self._flushing.cancel()
        deadline = time.monotonic() + timeout_seconds
        while self._write_pending() and (left_seconds := deadline - time.monotonic()) > 0:
            _await_writable(self._descriptor, left_seconds)
        self._give_up()

    def _has_room(self) -> bool:
        """Whether one more line may be kept, after writing what is a batch by now."""
        if self._bound_bytes == _BATCH_BYTES:
            self._write_pending()
        return self._pending_bytes < self._bound_bytes

    def _flush(self) -> None:
        self._flushing = None
        if self._write_pending():
            self._flushing = self._loop.call_later(_LINGER_SECONDS, self._flush)

    def _write_pending(self) -> bool:
        """Write what the pipe takes; whether something is left for later."""
        while self._rest or self._lines:
            if not self._rest:
                self._rest = memoryview(b"".join(self._lines))
                self._lines.clear()
            try:
                written = os.write(self._descriptor, self._rest)
            except BlockingIOError:
                self._bound_bytes = PENDING_BYTES_MAX
                return True
            except OSError:
                self._give_up()  # the reader is gone for good
                return False
            self._rest = self._rest[written:]
            self._pending_bytes -= written
        if self._bound_bytes != _CLOSED:
            self._bound_bytes = _BATCH_BYTES
        return False

    def _give_up(self) -> None:
        """Take no further line; those that are pending are lost, one of which may be half written."""
        lost = bytes(self._rest).count(b"\n") + len(self._lines)
        self._lines.clear()
        self._rest, self._pending_bytes, self._bound_bytes = _NOTHING, 0, _CLOSED
        if lost:
            self._on_dropped(lost)


def _await_writable(descriptor: int, seconds: float) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    poll.poll(seconds * 1000)
