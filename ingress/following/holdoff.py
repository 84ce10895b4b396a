"""Decides when a new model is due: waits for a burst of changes to end, but not for ever.

Time is an argument, in monotonic seconds. Does not know what is waiting.
"""

from __future__ import annotations

# A rolling update touches many slices within milliseconds, and a person does not notice 50 ms.
QUIET_SECONDS = 0.05
# During endless changes the model still follows twice a second.
LIMIT_SECONDS = 0.5
# Requests need the present endpoints. Endpoints cost little each, but each publication costs workers some milliseconds
# in a large cluster, however few endpoints have changed.
ENDPOINTS_LIMIT_SECONDS = 0.2


class Holdoff:
    """Due after a quiet time, or at the limit counted from the first change, whichever comes first."""

    __slots__ = ("_first", "_last", "_quiet_seconds")

    def __init__(self, *, quiet_seconds: float = QUIET_SECONDS) -> None:
        self._quiet_seconds = quiet_seconds
        self._first: float | None = None
        self._last = 0.0

    def touch(self, now: float) -> None:
        """Notes that something changed at `now`, in seconds of a monotonic clock."""
        if self._first is None:
            self._first = now
        self._last = now

    def due_at(self, *, limit_seconds: float = LIMIT_SECONDS) -> float | None:
        """When the waiting changes are due, on the same clock; None if nothing waits."""
        if self._first is None:
            return None
        return min(self._last + self._quiet_seconds, self._first + limit_seconds)

    def reset(self) -> None:
        """Notes that the waiting changes were taken."""
        self._first = None
