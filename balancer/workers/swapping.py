"""Brings publications into use, one after the other, in slices that do not hold the event loop for long.

While a publication is on its way, of those that come meanwhile only the newest waits. The very first is used at once,
because no request is served before it. Does not know what a step does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Final

from balancer.runtime.garbage import leave_out, not_searching
from balancer.runtime.steps import finished

# For so long, and one step more, events of the loop wait for a slice. A request has three or four events, and each may
# find another slice before it. By measurement a step takes tens of microseconds, and the longest ones 1 ms.
_SLICE_SECONDS: Final = 0.0002

# After some slices the loop rests before each further one. Most requests then find no slice before them, and the kernel
# lets a process that has rested go first when a request wakes it. A change of few backends needs no rest.
_SLICES_AT_ONCE: Final = 4
_REST_SECONDS: Final = 0.001

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
        "_slices",
        "_used",
        "_waiting",
    )

    def __init__(
        self,
        *,
        used: Callable[[int], None],
        failed: Callable[[int, Exception], None],
        later: Callable[[float, Callable[[], None]], object],
        clock: Callable[[], float] = time.perf_counter,
        slice_seconds: float = _SLICE_SECONDS,
    ) -> None:
        """`used` and `failed` get the generation. `later` calls something after so many seconds (`call_later`)."""
        self._used = used
        self._failed = failed
        self._later = later
        self._clock = clock
        self._slice_seconds = slice_seconds
        self._is_first = True
        self._current: tuple[int, Steps] | None = None
        self._waiting: tuple[int, Steps] | None = None
        self._slices = 0  # that the swap under way has taken

    def take(self, generation: int, steps: Steps) -> None:
        """Takes the steps of the publication `generation` as soon as the swap under way has ended.

        The first slice is taken before this returns.
        """
        self._waiting = generation, steps
        if self._current is None:
            self._begin()

    def _begin(self) -> None:
        if self._current is None and self._waiting is not None:
            self._current = self._waiting
            self._waiting = None
            self._slices = 0
            self._slice()

    def _slice(self) -> None:
        with not_searching():
            self._go_on()
        leave_out()  # what a slice makes stays; to search through it would take milliseconds

    def _go_on(self) -> None:
        if self._current is None:
            return
        generation, steps = self._current
        try:
            if not self._advance(steps):
                self._slices += 1
                self._later(0.0 if self._slices < _SLICES_AT_ONCE else _REST_SECONDS, self._slice)
                return
        except Exception as error:
            self._current = None
            self._failed(generation, error)
        else:
            self._current = None
            self._is_first = False
            self._used(generation)
        if self._waiting is not None:
            self._later(0.0, self._begin)

    def _advance(self, steps: Steps) -> bool:
        """Takes steps for the time of one slice. Whether that was all of them."""
        if self._is_first:
            finished(steps)
            return True
        until = self._clock() + self._slice_seconds
        return all(self._clock() < until for _ in steps)
