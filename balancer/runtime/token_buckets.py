"""A token bucket decides when one more action is allowed: bursts now, a steady rate in the long run.

Time is an argument, in seconds of any clock. Does not know what is counted.
"""

from __future__ import annotations


class TokenBucket:
    """Holds at most `burst` tokens and earns `per_second`. It begins full, or with the tokens `at_first`."""

    __slots__ = ("_at", "_burst", "_per_second", "_tokens")

    def __init__(self, *, burst: float, per_second: float, at_first: float | None = None) -> None:
        self._burst = burst
        self._per_second = per_second
        self._tokens = burst if at_first is None else at_first
        self._at: float | None = None  # when the tokens were counted last

    def holds(self, now: float, tokens: float = 1.0) -> bool:
        """Whether so many tokens may be taken at `now`."""
        self._fill(now)
        return self._tokens >= tokens

    def wait_seconds(self, now: float) -> float:
        """Seconds from `now` until the next token may be taken; 0 if one may be taken now."""
        self._fill(now)
        return max(0.0, (1.0 - self._tokens) / self._per_second)

    def is_full(self, now: float) -> bool:
        """Whether the bucket is full again, so that a new bucket would be equal."""
        return self.holds(now, self._burst)

    def take(self, tokens: float = 1.0) -> None:
        """Takes tokens, of those that the bucket held when it was asked last.

        If it held fewer, the bucket owes the others, so the next caller waits longer.
        """
        self._tokens -= tokens

    def _fill(self, now: float) -> None:
        earned = 0.0 if self._at is None else max(0.0, now - self._at) * self._per_second
        self._tokens = min(self._burst, self._tokens + earned)
        self._at = now if self._at is None else max(now, self._at)
