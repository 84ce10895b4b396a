"""Keeps one process ready that takes the place of a worker as soon as that one ends or retires.

It has started and serves the newest publication or the one before, but accepts no connection. Does not know places, nor
how a process is started.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from balancer.workers.lifecycle import Phase, Times
from balancer.workers.supervised import Supervised

# A publication every so often is enough: what the process lacks it gets within milliseconds when it takes a place.
_FEED_SECONDS: Final = 1.0


class Standby:
    """At most one process that stands by."""

    __slots__ = ("_begin", "_times", "_worker")

    def __init__(self, begin: Callable[[], Supervised | None], times: Times) -> None:
        """`begin` starts a process that stands by; None if that fails."""
        self._begin = begin
        self._times = times
        self._worker: Supervised | None = None

    async def keep(self) -> None:
        """Starts a process, and another one whenever it has taken a place or has ended, without end.

        Waits before each start, because the workers in their places need the processor more.
        """
        pause = self._times.proof
        while True:
            await asyncio.sleep(pause)
            worker = self._begin()
            self._worker = worker
            if worker is not None:
                await worker.until(Phase.STANDING_BY)
                while worker is self._worker and _is_ready(worker):
                    worker.feed()
                    await asyncio.sleep(_FEED_SECONDS)
                if worker is self._worker:
                    worker.drain(grace_seconds=0.0, limit_seconds=0.0)  # it was told to end, if it has not ended yet
            is_taken = worker is not None and self._worker is not worker
            pause = self._times.proof if is_taken else self._times.longest_pause

    def take(self) -> Supervised | None:
        """Hands the process that stands by over to the caller; None if it is not ready."""
        worker = self._worker
        if worker is None or not _is_ready(worker):
            return None
        self._worker = None
        return worker

    def dismiss(self) -> None:
        """Ends the process, because it has inherited sockets that nobody uses any more."""
        worker = self._worker
        self._worker = None
        if worker is not None:
            worker.kill("stands by with old sockets")


def _is_ready(worker: Supervised) -> bool:
    return worker.life.phase is Phase.STANDING_BY and not worker.ended.is_set()
