"""Decides when a new model is due: waits for a burst of changes to end, but not for ever.

Time is an argument, in monotonic seconds. Does not know what is waiting.
"""

from __future__ import annotations

# A rolling update touches many slices within milliseconds, and a person does not notice 50 ms.
QUIET_SECONDS = 0.05
# One object that changes while all else is at rest is most often alone: what comes with it, comes within milliseconds.
LONE_SECONDS = 0.015
# So long nothing else has changed before.
CALM_SECONDS = 1.0
# During endless changes the model still follows twice a second.
LIMIT_SECONDS = 0.5
# Requests need the present endpoints. Endpoints cost little each, but each publication costs workers some milliseconds
# in a large cluster, however few endpoints have changed.
ENDPOINTS_LIMIT_SECONDS = 0.2


class Holdoff:
    """Due after a quiet time, or at the limit counted from the first change, whichever comes first.

    A lone change is due sooner. If another one follows before, both wait for the quiet time.
    """

    __slots__ = ("_first", "_is_lone", "_last", "_quiet_seconds")

    def __init__(self, *, quiet_seconds: float = QUIET_SECONDS) -> None:
        self._quiet_seconds = quiet_seconds
        self._first: float | None = None
        self._last = 0.0
        self._is_lone = False

    def touch(self, now: float, *, may_be_lone: bool = False) -> None:
        """Notes that something changed at `now`, in seconds of a monotonic clock. `may_be_lone`: it is of a kind that
        often changes alone.
        """
        self._is_lone = may_be_lone and self._first is None and now - self._last >= CALM_SECONDS
        if self._first is None:
            self._first = now
        self._last = now

    def due_at(self, *, limit_seconds: float = LIMIT_SECONDS) -> float | None:
        """When the waiting changes are due, on the same clock; None if nothing waits."""
        if self._first is None:
            return None
        quiet_seconds = LONE_SECONDS if self._is_lone else self._quiet_seconds
        return min(self._last + quiet_seconds, self._first + limit_seconds)

    def reset(self) -> None:
        """Notes that the waiting changes were taken."""
        self._first = None
