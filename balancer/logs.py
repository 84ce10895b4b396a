"""A process's own log on stderr: text for people or one JSON object a line. The access log is not its business."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime

_LOG = logging.getLogger(__name__)

# Whoever sends nonsense can send it a thousand times a second; one line a minute says as much.
_NAMELESS_EVERY_SECONDS = 60.0


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


def configure_logs(*, level: str, log_format: str, worker: int | None = None) -> None:
    """Send every log record of `level` (debug, info, warning, error) and above to stderr, as `text` or `json`.

    All processes share stderr: a `worker` says its number in each line.

    What Python cannot raise goes on to the hook in place, but for TLS server names that are not text: clients choose
    them, and a traceback for each would bury the log.
    """
    handler = logging.StreamHandler()
    if log_format == "json":
        handler.setFormatter(_JsonFormatter(worker))
    else:
        origin = "" if worker is None else f"worker {worker} "
        handler.setFormatter(logging.Formatter(f"%(asctime)s %(levelname)s {origin}%(name)s: %(message)s"))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    if not isinstance(sys.unraisablehook, _UnraisableHook):
        sys.unraisablehook = _UnraisableHook(sys.unraisablehook)


class _UnraisableHook:
    """Tells server names that are not text in one debug line at times, and leaves all else to `otherwise`.

    CPython decodes the name of a handshake (RFC 6066 section 3: ASCII) before our callback sees it, and reports a
    failure here, with the bytes of the name as the object; it has refused the handshake by then.
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
            _LOG.debug("refused TLS handshakes whose server name is not ASCII: %d since last said", self._unsaid)
            self._silent_until = now + _NAMELESS_EVERY_SECONDS
            self._unsaid = 0
