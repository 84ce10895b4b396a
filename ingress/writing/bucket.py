"""A token bucket decides when one more action is allowed: bursts now, a steady rate in the long run.

Time is an argument, in monotonic seconds. Does not know what is counted.
"""

from __future__ import annotations


class Bucket:
    """Holds at most `burst` tokens and starts full."""

    __slots__ = ("_at", "_burst", "_per_second", "_tokens")

    def __init__(self, *, burst: float, per_second: float) -> None:
        self._burst = burst
        self._per_second = per_second
        self._tokens = burst
        self._at = 0.0

    def wait_seconds(self, now: float) -> float:
        """Seconds from `now` until the next token is available; 0 if one is available now."""
        self._fill(now)
        return max(0.0, (1.0 - self._tokens) / self._per_second)

    def take(self, now: float) -> None:
        """Takes one token. If none is available the bucket owes it, so the next caller waits longer."""
        self._fill(now)
        self._tokens -= 1.0

    def is_full(self, now: float) -> bool:
        """Whether the bucket is full again, so that a new bucket would be equal."""
        self._fill(now)
        return self._tokens >= self._burst

    def _fill(self, now: float) -> None:
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._at) * self._per_second)
        self._at = max(now, self._at)
