"""Searches for garbage in cycles that hold the event loop for a short while, however much a process keeps.

Responsible for what Python's collector looks at. Nearly everything here lives long or dies by its count of references,
so what one full search has found alive is left out of the next ones. It must not know who makes garbage.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

# What was alive in a search and died in a cycle later waits for so long. Measured beside TLS connections that come and
# go: none with uvloop, a few hundred objects in twelve seconds with asyncio. To look at everything takes up to 0.2 s
# where thousands of backends are in use.
_EVERYTHING_SECONDS = 600.0
# Searches of the middle generation before a full one (Python: 10). What these find is looked at once, so more of them
# take no more time in all, and each takes 6 ms instead of 40 while thousands of backends come into use.
_MIDDLE_SEARCHES = 1


def leave_out() -> None:
    """What is there by now stays, as far as it matters: later searches need not look at it."""
    gc.freeze()


@contextmanager
def short_searches(clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """For as long as it lasts, a full search leaves out what those before it found alive, but for one each ten minutes.

    `clock` gives seconds and never goes back.
    """
    everything_at = clock() + _EVERYTHING_SECONDS

    def follow(phase: str, about: Mapping[str, int]) -> None:
        nonlocal everything_at
        if about["generation"] < 2:
            return
        if phase == "stop":
            leave_out()
        elif clock() >= everything_at:
            everything_at = clock() + _EVERYTHING_SECONDS
            gc.unfreeze()

    young, middle, full = gc.get_threshold()
    gc.callbacks.append(follow)
    gc.set_threshold(young, middle, _MIDDLE_SEARCHES)
    try:
        yield
    finally:
        gc.set_threshold(young, middle, full)
        gc.callbacks.remove(follow)
