"""Measures how late the event loop runs its callbacks. Look at this first when latency rises."""

from __future__ import annotations

import asyncio
from collections import deque

_PERIOD_SECONDS = 0.5
_REMEMBERED = 60  # samples: half a minute, so that a scrape cannot miss a stall


class LoopLag:
    """Samples the lag of the running loop until stopped."""

    __slots__ = ("_due", "_handle", "_loop", "_period_seconds", "_samples")

    def __init__(self, *, period_seconds: float = _PERIOD_SECONDS, remembered: int = _REMEMBERED) -> None:
        """Take a sample every `period_seconds`, and remember the last `remembered` of them."""
        self._period_seconds = period_seconds
        self._loop = asyncio.get_running_loop()
        self._samples: deque[float] = deque(maxlen=remembered)
        self._due = self._loop.time() + period_seconds
        self._handle = self._loop.call_at(self._due, self._sample)

    @property
    def worst_seconds(self) -> float:
        """The longest lag of the remembered samples, including a stall that is not over yet."""
        return max(0.0, self._loop.time() - self._due, *self._samples)

    def stop(self) -> None:
        self._handle.cancel()

    def _sample(self) -> None:
        now = self._loop.time()
        self._samples.append(max(0.0, now - self._due))
        self._due = now + self._period_seconds
        self._handle = self._loop.call_at(self._due, self._sample)
