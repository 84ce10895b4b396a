"""Brings publications into use, one after the other, in slices that do not hold the event loop for long.

While a publication is on its way, of those that come meanwhile only the newest waits. The very first is used at once,
because no request is served before it. Does not know what a step does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Final

from balancer.model.publication import Publication
from balancer.runtime.garbage import leave_out, not_searching
from balancer.runtime.steps import finished

# For so long, and one step more, events of the loop wait for a slice. A request has three or four events, and each may
# find another slice before it. By measurement a step takes tens of microseconds, and the longest ones 1 ms.
_SLICE_SECONDS: Final = 0.0002

Steps = Generator[None, None, None]


class Swaps:
    """The swaps of one worker. `used` and `failed` are called once for each publication that was begun."""

    __slots__ = (
        "_clock",
        "_current",
        "_failed",
        "_is_first",
        "_later",
        "_slice_seconds",
        "_steps",
        "_used",
        "_waiting",
    )

    def __init__(
        self,
        steps: Callable[[Publication], Steps],
        *,
        used: Callable[[Publication], None],
        failed: Callable[[int, Exception], None],
        later: Callable[[Callable[[], None]], object],
        clock: Callable[[], float] = time.perf_counter,
        slice_seconds: float = _SLICE_SECONDS,
    ) -> None:
        """`steps` are those of one swap. `failed` gets the generation.

        `later` calls something in the next turn of the loop (`call_soon`).
        """
        self._steps = steps
        self._used, self._failed = used, failed
        self._later = later
        self._clock, self._slice_seconds = clock, slice_seconds
        self._is_first = True
        self._current: tuple[Publication, Steps] | None = None
        self._waiting: Publication | None = None

    def take(self, publication: Publication) -> None:
        """Uses `publication` as soon as the swap under way has ended. The first slice is taken before this returns."""
        self._waiting = publication
        if self._current is None:
            self._begin()

    def _begin(self) -> None:
        publication, self._waiting = self._waiting, None
        if publication is not None and self._current is None:
            self._current = publication, self._steps(publication)
            self._slice()

    def _slice(self) -> None:
        with not_searching():
            self._go_on()
        leave_out()  # what a slice makes stays; to search through it would take milliseconds

    def _go_on(self) -> None:
        if self._current is None:
            return
        publication, steps = self._current
        try:
            if not self._advance(steps):
                self._later(self._slice)
                return
        except Exception as error:
            self._current = None
            self._failed(publication.generation, error)
        else:
            self._current, self._is_first = None, False
            self._used(publication)
        if self._waiting is not None:
            self._later(self._begin)

    def _advance(self, steps: Steps) -> bool:
        """Takes steps for the time of one slice. Whether that was all of them."""
        if self._is_first:
            finished(steps)
            return True
        until = self._clock() + self._slice_seconds
        return all(self._clock() < until for _ in steps)
