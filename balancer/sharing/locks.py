"""Guards sets of a table with record locks (fcntl(2)) on single bytes of the file that holds the table.

The kernel releases the locks with the process, so a killed worker delays no other. A lock is held for microseconds. A
worker that cannot get one soon counts without it, because another process may have been stopped while it held the lock.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from typing import Final

# A thousand times as long as a lock is held; a holder that lost its processor usually has it back by then.
_PATIENCE_NS: Final = 3_000_000


class RangeLocks:
    """A guard of record locks on a file that other processes have, too. One thread of a process uses it."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def enter(self, place: int) -> None:
        """Locks the byte `place`, or gives up."""
        until = 0
        while True:
            try:
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
                return
            except OSError:  # another process has the lock, or the system has no more locks
                now = time.monotonic_ns()
                until = until or now + _PATIENCE_NS
                if now > until:
                    return
                os.sched_yield()

    def leave(self, place: int) -> None:
        """Unlocks it, also if it was not locked."""
        with suppress(OSError):
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, place)
