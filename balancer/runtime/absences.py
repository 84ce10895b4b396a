"""Knows how long an event loop did not turn, so that no peer is blamed for what its own process was late to read.

A process that was stopped, throttled, starved of a processor or busy for long finds answers waiting when it goes on. By
the clock their senders look silent. Time is an argument, in seconds of a clock that never goes back.
"""

from __future__ import annotations

from collections import deque
from typing import Final

BEAT_SECONDS: Final = 0.1
"""How often a loop says that it turns. A shorter stall is seen only if the process waited for a processor meanwhile."""

TURN_SECONDS, TURNS = 0.01, 2
"""When a wait is over, the loop is let turn so often, for so long: what came while it was held counts."""

HOPELESS_SECONDS: Final = 30.0
"""No absence makes a wait longer by more."""

# Less in a beat is no absence. So many beats with one are remembered: a quarter of a minute at least.
_LEAST_SECONDS = 0.005
_REMEMBERED = 150


class Absences:
    """The times in which one loop did not turn. Without beats it is never absent."""

    __slots__ = ("_beat_at", "_beats", "_starved")

    def __init__(self) -> None:
        self._beats: deque[tuple[float, float, float]] = deque(maxlen=_REMEMBERED)  # begin, end, and seconds missed
        self._beat_at: float | None = None
        self._starved = 0.0

    def beat(self, now: float, starved: float) -> None:
        """Notes that the loop turns. Called every `BEAT_SECONDS` by a timer of the loop.

        `starved` is how long the process has waited for a processor in all; 0 if that is not known now.
        """
        before = self._beat_at
        if before is not None:
            length = now - before
            missed = min(max(length - BEAT_SECONDS, starved - self._starved), length)
            if missed > _LEAST_SECONDS:
                self._beats.append((before, now, missed))
        self._beat_at = now
        self._starved = max(self._starved, starved)

    def missed(self, since: float, until: float) -> float:
        """The seconds between `since` and `until` in which the loop did not turn, by what is known until now."""
        at = self._beat_at
        if at is None:
            return 0.0
        missed = 0.0
        if until - at > BEAT_SECONDS:  # the next beat is late already
            missed = _part(at, until, until - at - BEAT_SECONDS, since, until)
        for begin, end, seconds in reversed(self._beats):
            if end <= since:
                break
            missed += _part(begin, end, seconds, since, until)
        return missed

    def attended(self, since: float, until: float) -> float:
        """The seconds between `since` and `until` in which the loop turned."""
        return until - since - self.missed(since, until)


NEVER_ABSENT: Final = Absences()
"""The absences of a loop whose turns nobody watches: none."""


class AttendedWait:
    """One wait for something that the loop has to read. Absences do not count."""

    __slots__ = ("_absences", "_began", "_seconds", "_turns")

    def __init__(self, seconds: float, now: float, absences: Absences) -> None:
        self._seconds = seconds
        self._began = now
        self._absences = absences
        self._turns = 0

    def end(self) -> None:
        """The wait is over now."""
        self._seconds = 0.0
        self._turns = TURNS

    def left(self, now: float) -> float:
        """How many seconds to wait before this is asked again; 0: the wait is over."""
        began, seconds = self._began, self._seconds
        left = min(seconds - self._absences.attended(began, now), began + seconds + HOPELESS_SECONDS - now)
        if left > 0.0:
            return max(left, TURN_SECONDS)
        if self._turns < TURNS:
            self._turns += 1
            return TURN_SECONDS
        return 0.0


def _part(begin: float, end: float, seconds: float, since: float, until: float) -> float:
    """The part of `seconds`, spread evenly from `begin` to `end`, that lies between `since` and `until`."""
    common = min(end, until) - max(begin, since)
    return seconds * common / (end - begin) if common > 0.0 else 0.0
