"""Waits for keys of a terminal, one at a time and without their echo.

Gives the terminal back as it was. Does not know what keys do.
"""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import time
import tty
from collections import deque
from types import TracebackType
from typing import Final, TextIO

_READ_BYTES: Final = 256
# A sequence of control characters, or one character.
_KEY: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z~]|.", re.DOTALL)


class Keyboard:
    """The keys of `stream`. If that is no terminal, there is no key, and waiting is only waiting."""

    __slots__ = ("_before", "_descriptor", "_keys")

    def __init__(self, stream: TextIO = sys.stdin) -> None:
        self._descriptor = stream.fileno() if stream.isatty() else None
        self._keys: deque[str] = deque()
        self._before: list[object] = []

    def __enter__(self) -> Keyboard:
        if self._descriptor is not None:
            self._before = termios.tcgetattr(self._descriptor)
            tty.setcbreak(self._descriptor)  # Ctrl-C stays a signal
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor is not None:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)  # type: ignore[arg-type]

    def key(self, seconds: float) -> str:
        """The next key, or nothing if none comes within `seconds`."""
        if not self._keys and self._descriptor is not None:
            ready, _, _ = select.select([self._descriptor], [], [], max(0.0, seconds))
            if ready:
                self._read(self._descriptor)
        elif not self._keys:
            time.sleep(max(0.0, seconds))
        return self._keys.popleft() if self._keys else ""

    def _read(self, descriptor: int) -> None:
        try:
            typed = os.read(descriptor, _READ_BYTES).decode(errors="replace")
        except OSError:
            typed = ""
        if not typed:
            self._descriptor = None  # the terminal has gone
        self._keys.extend(_KEY.findall(typed))
