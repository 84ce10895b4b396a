"""A token bucket: bursts now, a steady rate in the long run.

Responsible for when one more is allowed. Time comes in as monotonic seconds; it must not know what is counted.
"""

from __future__ import annotations


class Bucket:
    """Holds `burst` tokens at most and begins full."""

    __slots__ = ("_at", "_burst", "_per_second", "_tokens")

    def __init__(self, *, burst: float, per_second: float) -> None:
        self._burst = burst
        self._per_second = per_second
        self._tokens = burst
        self._at = 0.0

    def wait_seconds(self, now: float) -> float:
        """How long after `now` the next token is there; 0 if one is."""
        self._fill(now)
        return max(0.0, (1.0 - self._tokens) / self._per_second)

    def take(self, now: float) -> None:
        """Take one token. One that is not there yet is owed, so that whoever comes next waits longer."""
        self._fill(now)
        self._tokens -= 1.0

    def is_full(self, now: float) -> bool:
        """Whether nothing has been taken for so long that a new bucket would be the same."""
        self._fill(now)
        return self._tokens >= self._burst

    def _fill(self, now: float) -> None:
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._at) * self._per_second)
        self._at = max(now, self._at)
