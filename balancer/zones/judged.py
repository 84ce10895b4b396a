"""Holds what one worker knows about one zone of a backend: the evidence of all workers, and how far the zone is left.

A worker tells the others what it saw and which steps it took, and takes over a step that is newer than its own. Does
not decide steps. Time is an argument, in seconds of a clock that all workers share.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from balancer.sharing.zone_peers import PLACES, ZonePeers, ZoneSeen
from balancer.zones.departure import Departure, DepartureState
from balancer.zones.failures import FailureCount, FailureWindow

# Of what others saw in a longer time, only so much counts as news: when it came within that time is not known.
_NEWS_SECONDS: Final = 2.0
_NO_ANSWERS: Final = (0.0,) * PLACES
_DEPARTURE_WORDS: Final = len(DepartureState._fields)


class Beginning(NamedTuple):
    """When a zone began to be left, and what decided: answers of the zone and of the others."""

    at: float = 0.0
    own: FailureCount = FailureCount()
    others: FailureCount = FailureCount()

    @property
    def words(self) -> tuple[float, ...]:
        """This beginning as words that others can take over."""
        return (self.at, *self.own, *self.others)


class JudgedZone:
    """What is known about one zone. `is_leaving`: its nodes are said to go away. `begun` holds while it is left."""

    __slots__ = ("_answers", "_failed", "_peers", "_seconds", "begun", "departure", "is_leaving", "window")

    def __init__(self, peers: ZonePeers) -> None:
        self.window = FailureWindow()
        self.departure = Departure()
        self.is_leaving = False
        self.begun = Beginning()
        self._peers = peers
        self._answers = list(_NO_ANSWERS)
        self._failed = list(_NO_ANSWERS)
        self._seconds = 0.0

    def note(self, *, failed: bool, seconds: float, place: int, client: bytes = b"", now: float = 0.0) -> None:
        """This worker got an answer for a client after `seconds`. `place` is one of `PLACES`, by which clients are told
        apart.
        """
        self.window.note(failed=failed, seconds=seconds, place=place, client=client, now=now)
        self._answers[place] += 1.0
        if failed:
            self._failed[place] += 1.0
        else:
            self._seconds += seconds

    def wake(self, now: float) -> None:
        """Begins to count. What came before is not known, and what others saw before is no news."""
        self.window = FailureWindow()
        self.departure.heard_from = now
        self._exchanged(now)

    def pass_time(self, elapsed: float, now: float, *, is_late: bool = False) -> None:
        """`elapsed` seconds have passed since the last call or `wake`, in which others saw something as well.

        `is_late` is that of `FailureWindow`.
        """
        seen = self._exchanged(now)
        self.window.add(seen, min(1.0, _NEWS_SECONDS / elapsed))
        self.window.pass_time(elapsed, is_late=is_late)

    def takes_over(self, now: float) -> bool:
        """Takes over the step of another worker, if the latest one of all is not the own. Returns whether it did.

        As after an own step, what comes from now on is seen apart.
        """
        newest = self._peers.newest(now)
        if newest is None or newest[0] <= self.departure.stepped_at:
            return False
        self.departure.take_over(DepartureState(*newest[:_DEPARTURE_WORDS]), now)
        at, *counts = newest[_DEPARTURE_WORDS:]
        self.begun = Beginning(at, FailureCount(*counts[:2]), FailureCount(*counts[2:]))
        self.window.restart()
        return True

    def tell(self, now: float) -> None:
        """Tells the others how far the zone is left."""
        self._peers.tell((*self.departure.state, *self.begun.words), now)

    def _exchanged(self, now: float) -> ZoneSeen:
        """Tells the others what this worker saw. Returns what they saw since the last call."""
        seen = ZoneSeen(tuple(self._answers), tuple(self._failed), self._seconds)
        self._answers = list(_NO_ANSWERS)
        self._failed = list(_NO_ANSWERS)
        self._seconds = 0.0
        return self._peers.exchange(seen, now)
