"""Notices who fights with us about a status, and says how long to leave it alone.

A rewrite is a write of the same words as before, because somebody has changed them. After several rewrites of an object
within a minute its next write waits, twice as long each time. Time is an argument, in monotonic seconds.
"""

from __future__ import annotations

from typing import Final

import msgspec

REWRITES_MOST: Final = 3
"""Rewrites of an object within `WITHIN_SECONDS` that nobody minds."""

WITHIN_SECONDS: Final = 60.0
_FIRST_SECONDS: Final = 10.0
_MOST_SECONDS: Final = 300.0

Key = tuple[str, str, str]
"""Kind, namespace and name of an object."""


class _Contest(msgspec.Struct):
    """The times of the last rewrites, the present pause (0: none yet), and until when it lasts."""

    rewrites: list[float] = msgspec.field(default_factory=list)
    pause_seconds: float = 0.0
    until: float = 0.0


class Contests:
    """The objects whose status others change back."""

    __slots__ = ("_contests",)

    def __init__(self) -> None:
        self._contests: dict[Key, _Contest] = {}

    def rewrote(self, key: Key, now: float) -> None:
        """Notes a rewrite. The pause begins, or doubles, if there were too many."""
        contest = self._contests.setdefault(key, _Contest())
        window = max(WITHIN_SECONDS, REWRITES_MOST * contest.pause_seconds)
        contest.rewrites = [at for at in contest.rewrites if now - at < window] + [now]
        if len(contest.rewrites) < REWRITES_MOST:
            return
        contest.pause_seconds = min(max(_FIRST_SECONDS, 2 * contest.pause_seconds), _MOST_SECONDS)
        contest.until = now + contest.pause_seconds

    def waits_until(self, key: Key) -> float:
        """When the object may be written again; 0 if it may at once."""
        contest = self._contests.get(key)
        return contest.until if contest is not None else 0.0

    def contested(self, now: float) -> tuple[Key, ...]:
        """The objects that are fought about, sorted. Forgets those that have been left in peace."""
        for key, contest in list(self._contests.items()):
            if now - contest.rewrites[-1] >= max(WITHIN_SECONDS, 2 * contest.pause_seconds):
                del self._contests[key]
        return tuple(sorted(key for key, each in self._contests.items() if each.pause_seconds))
