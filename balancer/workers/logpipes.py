"""Owns the parent's end of the access log: a pipe for each worker, and the one thread that writes to standard output.

Writes whole lines: lines of different workers never mix, and a line that a killed worker left half written is dropped.
A reader that stalls, or a full disk, blocks only this thread. Then the pipes fill, and the workers drop lines and count
them. Does not know what a line says.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import select
import threading
from collections import deque
from contextlib import suppress
from typing import Final

_LOG = logging.getLogger(__name__)

# The most that Linux gives a process without privileges (fs.pipe-max-size), so the parent may be late by many batches.
_PIPE_BYTES: Final = 1024 * 1024

# Bytes read at once from one pipe, so that a busy worker does not delay the lines of the others.
_READ_BYTES: Final = 256 * 1024

_FAILED_SECONDS: Final = 1.0  # the pause before a failed write to standard output is tried again


class LogPipes:
    """Pipes that lead to `stdout_fd`. All methods are for one thread, the one of the parent's event loop."""

    __slots__ = ("_added", "_closing", "_is_gone", "_poll", "_stdout", "_tails", "_thread", "_wake", "_woken")

    def __init__(self, stdout_fd: int) -> None:
        """After `start` no other writer may use `stdout_fd`."""
        self._stdout = stdout_fd
        self._added: deque[int] = deque()
        self._closing = threading.Event()
        # Everything below belongs to the thread. A pipe tells the thread about new pipes; closing its write end tells
        # the thread to end.
        woken, wake = os.pipe()
        self._woken = woken
        self._wake = wake
        self._poll = select.poll()
        self._poll.register(self._woken, select.POLLIN)
        self._tails: dict[int, bytes] = {}  # by read end: a line whose end has not come yet
        self._is_gone = False
        self._thread = threading.Thread(target=self._run, name="access-log", daemon=True)

    def start(self) -> None:
        """Begins to write. Earlier lines of workers wait in the pipes, so other output can go before them."""
        self._thread.start()

    def new_pipe(self) -> int:
        """The write end of a new pipe, which the caller hands on and closes. The pipe goes when all copies are closed.

        If standard output has failed (its reader is gone), writes to the pipe fail with EPIPE.
        """
        read_fd, write_fd = os.pipe()
        _enlarge(write_fd)
        os.set_blocking(read_fd, False)
        self._added.append(read_fd)
        os.write(self._wake, b"+")
        return write_fd

    def close(self, timeout_seconds: float) -> None:
        """Writes what is in the pipes now, for at most `timeout_seconds`, and closes them.

        Data that standard output refuses is not tried again.
        """
        self._closing.set()
        if self._wake >= 0:
            os.close(self._wake)
            self._wake = -1
        if self._thread.ident is None:
            self._thread.start()
        self._thread.join(timeout_seconds)

    def _run(self) -> None:
        is_open = True
        while is_open:
            ready = [descriptor for descriptor, _ in self._poll.poll()]
            if self._woken in ready:
                is_open = os.read(self._woken, 1) != b""
                self._follow_added()
            for descriptor in ready:
                if descriptor in self._tails:
                    self._pass_on(descriptor)
        for descriptor in tuple(self._tails):
            while self._pass_on(descriptor):
                pass
        self._close_all()
        os.close(self._woken)

    def _follow_added(self) -> None:
        while self._added:
            descriptor = self._added.popleft()
            if self._is_gone:
                os.close(descriptor)
                continue
            self._tails[descriptor] = b""
            self._poll.register(descriptor, select.POLLIN)

    def _pass_on(self, descriptor: int) -> bool:
        """Writes the whole lines that one pipe holds. Returns whether there may be more."""
        try:
            data = os.read(descriptor, _READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self._drop(descriptor)
            return False
        data = self._tails[descriptor] + data
        end = data.rfind(b"\n") + 1
        self._tails[descriptor] = data[end:]
        if not self._write(memoryview(data)[:end]):
            # For good. Without this reader the workers' writes fail, so the workers count what is lost.
            self._is_gone = True
            self._close_all()
        return not self._is_gone

    def _write(self, lines: memoryview) -> bool:
        """Writes the lines. Returns False once standard output takes none any more."""
        is_told = False
        while lines:
            try:
                lines = lines[os.write(self._stdout, lines) :]
            except BlockingIOError:
                _await_writable(self._stdout)
            except OSError as error:
                if error.errno == errno.EPIPE:
                    return False
                if not is_told:
                    _LOG.error("the access log waits because standard output fails: %s", error.strerror)
                    is_told = True
                if self._closing.wait(_FAILED_SECONDS):
                    return False
        return True

    def _close_all(self) -> None:
        for descriptor in tuple(self._tails):
            self._drop(descriptor)

    def _drop(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        del self._tails[descriptor]
        os.close(descriptor)


def _enlarge(pipe_fd: int) -> None:
    """Enlarges the pipe if the platform can, up to the user's limit for all pipes (fs.pipe-user-pages-soft)."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):
            fcntl.fcntl(pipe_fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _await_writable(descriptor: int) -> None:
    """Waits until the descriptor is writable. Another process that shares it may have made it non-blocking."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    poll.poll()
