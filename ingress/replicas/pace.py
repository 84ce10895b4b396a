"""Averages how many requests a second come, from counts in steps of half a second. No I/O, no clock."""

from __future__ import annotations

import math
from typing import Final

_AVERAGED_SECONDS: Final = 1.0
# Requests that come back after so long come at another pace than before.
_PAUSE_SECONDS: Final = 1.0
# Nothing for so long, although so many requests were expected, is the end: what is told comes twice a second.
_SILENT_SECONDS: Final = 0.75
_SILENT_REQUESTS: Final = 5.0


class RecentPace:
    """Requests a second (`rate`). Of what is new, or new again, that is the mean of all that came."""

    __slots__ = ("_seconds", "_silent_seconds", "rate")

    def __init__(self) -> None:
        self.rate = 0.0
        self._seconds = 0.0
        self._silent_seconds = 0.0

    def take(self, count: int, elapsed: float) -> None:
        """So many requests came in the last `elapsed` seconds, which are more than 0."""
        if count:
            if self.is_paused:
                self._seconds = 0.0
            self._silent_seconds = 0.0
        else:
            self._silent_seconds += elapsed
        self._seconds += elapsed
        weight = max(-math.expm1(-elapsed / _AVERAGED_SECONDS), elapsed / self._seconds)
        self.rate += weight * (count / elapsed - self.rate)

    @property
    def is_paused(self) -> bool:
        """Whether requests that come now begin anew."""
        return self._silent_seconds >= _PAUSE_SECONDS

    @property
    def has_ended(self) -> bool:
        """Whether requests have stopped, sooner than the average says so."""
        silent = self._silent_seconds
        return silent >= _SILENT_SECONDS and self.rate * silent >= _SILENT_REQUESTS
