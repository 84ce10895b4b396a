"""Adds up what a controller of `adaptive` sees of one backend between two looks at it, and exchanges it with its peers.

Does not know what follows from it.
"""

from __future__ import annotations

from operator import add

from balancer.sharing.peers import Heard, Peers, Seen


class Sightings:
    """What this worker saw since the last exchange. `picks` counts requests that were picked."""

    __slots__ = ("_answers", "_local_done", "_peers", "_seconds", "picks")

    def __init__(self, peers: Peers) -> None:
        self._peers = peers
        self.picks = 0
        self._local_done = 0
        self._answers = [0, 0]
        self._seconds = [0.0, 0.0]

    def ended(self, *, is_local: bool, seconds: float | None, at_most: float) -> None:
        """A request ended. Its latency counts for `at_most` so many seconds; None: its end says nothing about it."""
        self._local_done += is_local
        if seconds is not None:
            self._answers[is_local] += 1
            self._seconds[is_local] += min(seconds, at_most)

    def exchange(self, *, share: float, baseline: float, now: float) -> tuple[Seen, Heard]:
        """What all workers of the replica saw since the last call, and what the others hold."""
        (away, local), (away_seconds, local_seconds) = self._answers, self._seconds
        mine = Seen(self.picks, self._local_done, local, local_seconds, away, away_seconds)
        self.picks = 0
        self._local_done = 0
        self._answers = [0, 0]
        self._seconds = [0.0, 0.0]
        heard = self._peers.exchange(mine, share=share, baseline=baseline, now=now)
        return Seen(*map(add, mine, heard.seen)), heard
