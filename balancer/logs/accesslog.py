"""Writes the access log of one event loop: a line for each request, in batches, to a pipe of its own.

Never delays a request: a buffer of bounded size keeps the bytes that the pipe does not take at once. Namespaces share
the buffer, and lines beyond a share are dropped and counted. Uses no thread. Does not know what a line says, nor who
reads the pipe.
"""

from __future__ import annotations

import asyncio
import os
import select
import time
from collections.abc import Callable
from typing import Final

from balancer.logs.accesslines import AccessLogFormat, AccessRecord, JsonLine, line_format
from balancer.runtime.shares import FairShares

PENDING_BYTES_MAX: Final = 4 * 1024 * 1024
"""The most bytes of one namespace that wait for a stalled reader: about 8,000 ordinary lines."""

_ALL_BYTES_MAX: Final = 2 * PENDING_BYTES_MAX  # of all namespaces: one alone gets half of it (`shares.py`)

# Long enough to write many lines at once under load, and too short to notice while following a log.
_LINGER_SECONDS: Final = 0.01

# The capacity of an empty pipe of default size. Larger batches would only fill the pipe in bursts.
_BATCH_BYTES: Final = 64 * 1024

_BEHIND: Final = 0
"""The bound of a log whose reader is slow: every line is asked for room."""

_CLOSED: Final = -1
"""The bound of a log that takes no more lines."""

_NOTHING: Final = memoryview(b"")


class AccessLog:
    """Takes records and writes lines. All calls must come from the event loop in which the log was made.

    `json_line` makes its lines if they are JSON. `enabled` says whether lines are written at all. If they are not,
    callers need not make records.
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
        "_shares",
        "enabled",
        "format",
        "json_line",
    )

    def __init__(self, write_fd: int, format: AccessLogFormat, on_dropped: Callable[[int], None]) -> None:
        """Must be called inside the running loop, unless the format is `OFF`, which needs neither a loop nor a
        descriptor.

        `write_fd` is the write end of a pipe without other writers, because a batch is not an atomic write. The
        descriptor is made non-blocking, and the caller closes it. `on_dropped` is called with the number of dropped
        lines.
        """
        self._descriptor = write_fd
        self._on_dropped = on_dropped
        self._line_of = line_format(format)
        self.json_line = self._line_of if isinstance(self._line_of, JsonLine) else None
        self.format: Final = format
        self.enabled: Final = self._line_of is not None
        self._lines: list[bytes] = []
        self._rest = _NOTHING  # the rest of a batch that the pipe took in part; goes before `_lines`
        self._pending_bytes = 0  # of `_rest` and `_lines`
        self._bound_bytes = _BATCH_BYTES
        self._shares = FairShares(0)  # of the room, while the reader is slow; only `_lines` are anybody's
        self._flushing: asyncio.TimerHandle | None = None
        if self.enabled:
            self._loop = asyncio.get_running_loop()
            os.set_blocking(write_fd, False)

    def write(self, record: AccessRecord, line_of: Callable[[AccessRecord], bytes] | None = None) -> None:
        """Writes the line of one record, and may change the record. `line_of` makes the line; None: the log's format.

        If the reader is too far behind or gone, or the log is closed, the line is dropped and `on_dropped` is called.
        """
        line_of = self._line_of if line_of is None else line_of
        if self._line_of is not None and line_of is not None:
            self.write_line(line_of(record), record.namespace)

    def write_line(self, line: bytes, namespace: str = "") -> None:
        """Writes one line, as `write` does. `namespace` is that of the route; empty without one."""
        if self._pending_bytes >= self._bound_bytes and not self._has_room(namespace, len(line)):
            self._on_dropped(1)
            return
        self._lines.append(line)
        self._pending_bytes += len(line)
        if self._flushing is None:
            self._flushing = self._loop.call_later(_LINGER_SECONDS, self._flush)

    def close(self, timeout_seconds: float) -> None:
        """Writes the pending lines, and blocks the loop for at most `timeout_seconds`. Lines left then are dropped."""
        if self._flushing is not None:
            self._flushing.cancel()
        deadline = time.monotonic() + timeout_seconds
        while self._write_pending() and (left_seconds := deadline - time.monotonic()) > 0:
            _await_writable(self._descriptor, left_seconds)
        self._give_up()

    def _has_room(self, namespace: str, size: int) -> bool:
        """Whether the buffer takes one more line of `size` bytes. Writes a batch first if one is complete."""
        if self._bound_bytes == _BATCH_BYTES:
            self._write_pending()
        if self._bound_bytes == _BEHIND:
            return self._shares.take(namespace, size)
        return self._bound_bytes != _CLOSED

    def _flush(self) -> None:
        self._flushing = None
        if self._write_pending():
            self._flushing = self._loop.call_later(_LINGER_SECONDS, self._flush)

    def _write_pending(self) -> bool:
        """Writes as much as the pipe takes. Returns whether lines are left for later."""
        while self._rest or self._lines:
            if not self._rest:
                self._rest = memoryview(b"".join(self._lines))
                self._lines.clear()
                self._shares = FairShares(_ALL_BYTES_MAX - len(self._rest))
            try:
                written = os.write(self._descriptor, self._rest)
            except BlockingIOError:
                self._bound_bytes = _BEHIND
                return True
            except OSError:
                self._give_up()  # the reader has gone for good
                return False
            self._rest = self._rest[written:]
            self._pending_bytes -= written
            self._shares.free += written
        if self._bound_bytes != _CLOSED:
            self._bound_bytes = _BATCH_BYTES
        return False

    def _give_up(self) -> None:
        """Closes the log and drops the pending lines. One of them may have been written in part."""
        lost = bytes(self._rest).count(b"\n") + len(self._lines)
        self._lines.clear()
        self._rest = _NOTHING
        self._pending_bytes = 0
        self._bound_bytes = _CLOSED
        if lost:
            self._on_dropped(lost)


def _await_writable(descriptor: int, seconds: float) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    poll.poll(seconds * 1000)
