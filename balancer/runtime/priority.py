"""Lets serving go before publishing where processes share a core.

Needs no privileges, and has no effect on a system that does not know it. Does not know what the processes do.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

# Beside busy workers on every processor, this process still gets a quarter of one processor.
_NICE: Final = 5
_OTHERS_SHARE: Final = 3
"""How many times as much of a core the others may get as this process, while many wait for it."""
_AHEAD_SECONDS: Final = 0.1
"""How much time beyond that share the others may have had before this process stops giving way."""
_LET_IN: Final[Callable[[], None]] = getattr(os, "sched_yield", lambda: None)


class GivingWay:
    """Call it between pieces of work of some tens of microseconds: it lets a process run that waits for this core.

    Linux lets a thread run for milliseconds once it runs, even if one wakes that should go before it: until its slice
    and a tick of the kernel are over. If others use all of the core, this process still gets a quarter of it.
    """

    __slots__ = ("_ahead", "_clock", "_let_in", "_since", "is_on")

    def __init__(self, *, clock: Callable[[], float] = time.perf_counter, let_in: Callable[[], None] = _LET_IN) -> None:
        """`let_in` returns when others have run, or at once if nobody waits."""
        self._clock = clock
        self._let_in = let_in
        self._since = clock()
        self._ahead = 0.0
        self.is_on = False
        """Whether there are others to let in."""

    def begin(self) -> None:
        """From now on a call has an effect: there are others to let in."""
        self.is_on = True

    def __call__(self) -> None:
        if not self.is_on:
            return
        now = self._clock()
        self._ahead = max(0.0, self._ahead - (now - self._since) * _OTHERS_SHARE)
        self._since = now
        if self._ahead < _AHEAD_SECONDS:
            self._let_in()
            self._since = self._clock()
            self._ahead += self._since - now


give_way: Final = GivingWay()
"""The one object of this process. Its only caller is the thread of the event loop."""


def step_back() -> None:
    """Lets other processes go before this thread, and before the threads that it starts from now on.

    Nice decides who gets how much of a core. A batch thread that wakes does not interrupt who runs (sched(7)): each
    change of the cluster would interrupt a request otherwise. `give_way` has an effect from now on.
    """
    give_way.begin()
    os.nice(_NICE)
    if hasattr(os, "SCHED_BATCH"):
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
