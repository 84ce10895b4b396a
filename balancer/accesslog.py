"""The access log: one line for each request, made on the event loop, written by a thread.

Responsible for bounding what is kept while the reader stalls and for dropping (counted) the rest, so that logging never
delays a request. It must not know what a line says.
"""

from __future__ import annotations

import os
import select
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from balancer.accesslines import AccessLogFormat, AccessRecord, line_format

# What a stalled reader may hold back: some 8,000 ordinary lines.
PENDING_BYTES_MAX: Final = 4 * 1024 * 1024

# Long enough to write many lines at once under load, too short to notice when following a log.
_LINGER_SECONDS: Final = 0.01

# What an empty pipe takes at once. Measured at 30,000 requests a second: the thread gets the interpreter's lock back
# about 500 times a second, so with pieces of 4 KiB it fell behind. Such pieces are not atomic: a pipe has one writer.
_WRITE_BYTES_MAX: Final = 64 * 1024


class AccessLog:
    """Takes records on the event loop and writes lines to a descriptor from a thread of its own."""

    __slots__ = (
        "_accepted",
        "_accepted_bytes",
        "_capacity_bytes",
        "_closing",
        "_descriptor",
        "_line_of",
        "_lines",
        "_on_dropped",
        "_thread",
        "_wake",
        "_written",
        "_written_bytes",
    )

    def __init__(self, write_fd: int, format: AccessLogFormat, on_dropped: Callable[[int], None]) -> None:
        """`on_dropped` is told how many lines were dropped, by the thread that calls `write` and `close`."""
        self._descriptor = write_fd
        self._on_dropped = on_dropped
        self._line_of = line_format(format)
        # Appended to by the event loop, taken from by the thread: both are atomic, and so no lock can hold up the loop.
        # For the same reason each of the four sums has one writer.
        self._lines: deque[bytes] = deque()
        self._accepted = self._accepted_bytes = 0
        self._written = self._written_bytes = 0
        self._capacity_bytes = PENDING_BYTES_MAX
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="access-log", daemon=True)
        if self._line_of is not None:
            self._thread.start()

    @property
    def enabled(self) -> bool:
        """Whether lines are written at all: a record that nobody reads need not be made."""
        return self._line_of is not None

    def write(self, record: AccessRecord) -> None:
        """Take one record; it is the log's from here on (its durations are rounded in place).

        The line is dropped, and `on_dropped` called, while the reader is too far behind, gone, or the log is closed.
        """
        if self._line_of is None:
            return
        if self._accepted_bytes - self._written_bytes >= self._capacity_bytes:
            self._on_dropped(1)
            return
        line = self._line_of(record)
        lines = self._lines
        lines.append(line)
        self._accepted += 1
        self._accepted_bytes += len(line)
        # Only the first line of a batch pays for waking the thread.
        if len(lines) == 1:
            self._wake.set()

    def close(self, timeout_seconds: float) -> None:
        """Write what is pending, blocking for at most `timeout_seconds`; what is left counts as dropped."""
        self._capacity_bytes = 0
        self._closing.set()
        self._wake.set()
        if self._line_of is not None:
            self._thread.join(timeout_seconds)
        lost = self._accepted - self._written
        if lost > 0:
            self._accepted = self._written
            self._on_dropped(lost)

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            self._closing.wait(_LINGER_SECONDS)
            try:
                self._write_pending()
            except OSError:
                # The reader is gone for good.
                self._capacity_bytes = 0
                return
            if self._closing.is_set() and not self._lines:
                return

    def _write_pending(self) -> None:
        batch = bytearray()
        count = 0
        while self._lines:
            line = self._lines.popleft()
            if batch and len(batch) + len(line) > _WRITE_BYTES_MAX:
                self._write_batch(batch, count)
                batch.clear()
                count = 0
            batch += line
            count += 1
        if batch:
            self._write_batch(batch, count)

    def _write_batch(self, batch: bytearray, count: int) -> None:
        rest = bytes(batch)
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:
                _await_writable(self._descriptor)
        self._written += count
        self._written_bytes += len(batch)


def _await_writable(descriptor: int) -> None:
    """Whoever shares standard output may have made it non-blocking."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    poll.poll()
