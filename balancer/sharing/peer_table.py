"""Lays out the memory in which controllers of `adaptive` in workers of one replica tell each other what they see.

A row (`rows.py`) has running totals of what was seen, the share and the baseline. No I/O.
"""

from __future__ import annotations

from math import inf
from typing import Final

from balancer.sharing.guards import Buffer
from balancer.sharing.peers import Heard, Peers, Seen
from balancer.sharing.relay import RowRelay
from balancer.sharing.rows import RowShape, RowTable, Talk

PEER_ROWS: Final = RowShape(sets=2048, state=2, totals=len(Seen._fields))
# A share and a baseline that are older say nothing about now. Running totals cannot be too old.
_FRESH_SECONDS: Final = 2.0
# What another replica tells at once came within half a second or a second, so controllers hear it in parts and see no
# bursts. By simulation more parts change nothing, and one part makes more turns of the share.
_PARTS, _PART_SECONDS = 2, 0.35


class PeerTable:
    """The memory as one worker sees it, from its seat."""

    __slots__ = ("_rows",)

    def __init__(self, buffer: Buffer, *, start: int, seats: int, seat: int, secret: bytes = b"") -> None:
        """The table has `PEER_ROWS.table_bytes(seats)` from the offset `start` of `buffer`, zero at first.

        `secret` is that of the memory. Raises ValueError if the buffer is shorter.
        """
        self._rows = RowTable(buffer, PEER_ROWS, start=start, seats=seats, seat=seat, secret=secret)

    def peers(self, key: str) -> Peers:
        """The peers of a controller. They are alone if the table has no room."""
        return _TablePeers(self._rows.talk(key))

    def relay(self) -> RowRelay:
        """Carries what controllers of other replicas saw: a state is a share and a baseline, 0 if unknown."""
        return RowRelay(self._rows, parts=_PARTS, part_seconds=_PART_SECONDS)


class _TablePeers:
    __slots__ = ("_talk",)

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    def exchange(self, seen: Seen, *, share: float, baseline: float, now: float) -> Heard:
        self._talk.tell((share, baseline), now, seen)
        news = self._talk.hear(now)
        fresh = [
            (its_share, its_baseline)
            for at, (its_share, its_baseline) in self._talk.states()
            if at >= now - _FRESH_SECONDS and 0.0 <= its_share <= 1.0 and 0.0 < its_baseline < inf
        ]
        if not fresh:
            return Heard(Seen(*news))
        return Heard(
            Seen(*news),
            sum(its_share for its_share, _ in fresh) / len(fresh),
            sum(its_baseline for _, its_baseline in fresh) / len(fresh),
        )
