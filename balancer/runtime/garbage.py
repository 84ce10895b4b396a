"""Searches for garbage in cycles and blocks the event loop only for a short time, however much a process keeps.

Limits what Python's collector looks at. Nearly all objects live long or are freed by their reference count, so the
objects that a full search has found alive are left out of later searches. Does not know who makes garbage.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

# An object that was alive in a search and later dies in a cycle waits for so long. By measurement with TLS connections
# that come and go there are none with uvloop, and a few hundred in twelve seconds with asyncio. A search of everything
# takes up to 0.2 s with thousands of backends.
_EVERYTHING_SECONDS = 600.0
# Searches of the middle generation before a full one (Python: 10). Survivors are then left out at once, so more full
# searches take no more time in all. Each takes 6 ms instead of 40 while thousands of backends come into use.
_MIDDLE_SEARCHES = 1


def leave_out() -> None:
    """Leaves the present objects out of later searches."""
    gc.freeze()


@contextmanager
def not_searching() -> Iterator[None]:
    """No search while the context lasts: for work whose objects nearly all stay, or die by their reference count."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def short_searches(clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """While the context lasts, a full search leaves out what earlier searches found alive, except for one each ten
    minutes.

    `clock` returns seconds and never goes back.
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
