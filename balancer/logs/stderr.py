"""Writes a process's own log on standard error: text for people, or one JSON object a line. Not the access log.

The reader of standard error may stall. Then lines are dropped, and a later line says how many, because nothing may
block an event loop.
"""

from __future__ import annotations

import json
import logging
import os
import select
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TextIO

_LOG = logging.getLogger(__name__)

# A client can send a thousand invalid names a second. One line a minute says as much.
_NAMELESS_EVERY_SECONDS = 60.0

# Where aiohttp has its exceptions about what clients send. The module is not imported here: workers do without it.
_ABOUT_REQUESTS = "aiohttp.http_exceptions"

# A pipe that polls as writable takes at least this many bytes at once (PIPE_BUF of Linux).
_AT_ONCE_BYTES = 4096


class _JsonFormatter(logging.Formatter):
    def __init__(self, worker: int | None) -> None:
        super().__init__()
        self._origin = {} if worker is None else {"worker": worker}

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            **self._origin,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


class _TextFormatter(logging.Formatter):
    """Shows characters that could end a line or steer a terminal by their number, because messages name objects."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return _printable(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return "\n".join(map(_printable, super().formatException(ei).split("\n")))


def _printable(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in line)


class _NeverWaiting(logging.StreamHandler[TextIO]):
    """Drops lines that standard error does not take now, and reports the number with the next written line.

    The descriptor stays blocking, because other processes write to the same open file. Therefore each write polls
    first.
    """

    def __init__(self) -> None:
        super().__init__()
        self._poll = select.poll()
        self._is_torn = False
        self._lost = 0
        self._descriptor: int | None = None
        with suppress(OSError):  # the descriptor may not be a file at all
            self._descriptor = self.stream.fileno()
            self._poll.register(self._descriptor, select.POLLOUT)

    def emit(self, record: logging.LogRecord) -> None:
        if self._descriptor is None:
            super().emit(record)
            return
        try:
            lines = self.format(record) + self.terminator
            if self._lost:
                lines = self._loss() + lines
        except Exception:  # as in every handler: a bad call must not end the caller
            self.handleError(record)
            return
        if self._write(self._descriptor, lines.encode(errors="backslashreplace")):
            self._lost = 0
        else:
            self._lost += 1

    def _loss(self) -> str:
        note = {"name": __name__, "levelno": logging.WARNING, "levelname": "WARNING"}
        told = logging.makeLogRecord({**note, "msg": f"lost {self._lost} records here: standard error took no more"})
        return ("\n" if self._is_torn else "") + self.format(told) + self.terminator

    def _write(self, descriptor: int, data: bytes) -> bool:
        """Whether all bytes were written. Data longer than standard error takes at once may be torn."""
        for start in range(0, len(data), _AT_ONCE_BYTES):
            try:
                if not any(event & select.POLLOUT for _, event in self._poll.poll(0)):
                    return False
                os.write(descriptor, data[start : start + _AT_ONCE_BYTES])
            except OSError:  # the reader has gone, or the disk is full
                return False
            self._is_torn = start + _AT_ONCE_BYTES < len(data)
        return True


def configure_logs(*, level: str, log_format: str, worker: int | None = None) -> None:
    """Sends every log record of `level` (debug, info, warning, error) and above to stderr, as `text` or `json`.

    All processes share stderr. A `worker` puts its number into each line. No call waits for the reader of stderr.

    Exceptions that Python cannot raise go to the existing hook, except for TLS server names that are not text: clients
    choose these names, and a traceback for each would bury the log. For the same reason, only level debug shows what
    aiohttp says about malformed requests.
    """
    handler = _NeverWaiting()
    if level != "debug":
        handler.addFilter(_is_worth_telling)
    if log_format == "json":
        handler.setFormatter(_JsonFormatter(worker))
    else:
        origin = "" if worker is None else f"worker {worker} "
        handler.setFormatter(_TextFormatter(f"%(asctime)s %(levelname)s {origin}%(name)s: %(message)s"))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    if not isinstance(sys.unraisablehook, _UnraisableHook):
        sys.unraisablehook = _UnraisableHook(sys.unraisablehook)


def _is_worth_telling(record: logging.LogRecord) -> bool:
    """Whether it is anything but a malformed request, which aiohttp tells as an error with a traceback.

    What is wrong with a body stands behind another exception, as its cause.
    """
    error = record.exc_info[1] if record.exc_info else None
    while error is not None:
        if type(error).__module__ == _ABOUT_REQUESTS:
            return False
        error = error.__cause__
    return True


class _UnraisableHook:
    """Counts server names that are not text in an occasional debug line, and passes everything else to `otherwise`.

    CPython decodes the server name of a handshake (RFC 6066 section 3: ASCII) before it calls our callback. If that
    fails, CPython refuses the handshake, and calls this hook with the bytes of the name as the object.
    """

    __slots__ = ("_otherwise", "_silent_until", "_unsaid")

    def __init__(self, otherwise: Callable[[sys.UnraisableHookArgs], object]) -> None:
        self._otherwise = otherwise
        self._silent_until = 0.0
        self._unsaid = 0

    def __call__(self, unraisable: sys.UnraisableHookArgs) -> None:
        if not (isinstance(unraisable.exc_value, UnicodeDecodeError) and isinstance(unraisable.object, bytes)):
            self._otherwise(unraisable)
            return
        self._unsaid += 1
        now = time.monotonic()
        if now >= self._silent_until:
            _LOG.debug("refused TLS handshakes whose server name is not ASCII: %d since the last report", self._unsaid)
            self._silent_until = now + _NAMELESS_EVERY_SECONDS
            self._unsaid = 0
