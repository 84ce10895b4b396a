"""Lays out the memory in which workers of one replica tell each other about zones whose answers fail. No I/O.

A row (`rows.py`) has a state and running totals. The words of a state belong together, so their sum comes with them: a
reader that meets them between two writes ignores them until its next look.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from balancer.sharing.guards import Buffer
from balancer.sharing.relay import RowRelay
from balancer.sharing.rows import RowShape, RowTable, Talk
from balancer.sharing.zone_peers import PLACES, STATE_WORDS, ZonePeers, ZoneSeen

# 4,096 zones of backends that fail at one time.
ZONE_ROWS: Final = RowShape(sets=1024, state=STATE_WORDS + 1, totals=2 * PLACES + 1)
# A state that was told longer ago says nothing about now.
_FRESH_SECONDS: Final = 10.0
_NO_STATE: Final = (0.0,) * STATE_WORDS


class ZoneTable:
    """The memory as one worker sees it, from its seat."""

    __slots__ = ("_rows",)

    def __init__(self, buffer: Buffer, *, start: int, seats: int, seat: int, secret: bytes = b"") -> None:
        """The table has `ZONE_ROWS.table_bytes(seats)` from the offset `start` of `buffer`, zero at first.

        `secret` is that of the memory. Raises ValueError if the buffer is shorter.
        """
        self._rows = RowTable(buffer, ZONE_ROWS, start=start, seats=seats, seat=seat, secret=secret)

    def peers(self, key: str) -> ZonePeers:
        """The other workers that see a zone. Nobody hears this one if the table has no room."""
        return _TableZonePeers(self._rows.talk(key))

    def relay(self) -> RowRelay:
        """Carries what workers of other replicas saw. Their steps stay theirs."""
        return RowRelay(self._rows)


class _TableZonePeers:
    __slots__ = ("_state", "_talk")

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._state = _summed(_NO_STATE)

    def exchange(self, seen: ZoneSeen, now: float) -> ZoneSeen:
        self._talk.tell(self._state, now, (*seen.answers, *seen.failed, seen.seconds))
        news = self._talk.hear(now)
        return ZoneSeen(tuple(news[:PLACES]), tuple(news[PLACES : 2 * PLACES]), news[-1])

    def tell(self, state: tuple[float, ...], now: float) -> None:
        self._state = _summed(state)
        self._talk.tell(self._state, now)

    def newest(self, now: float) -> tuple[float, ...] | None:
        states = [tuple(words[:-1]) for at, words in self._talk.states() if at >= now - _FRESH_SECONDS and _fits(words)]
        return max(states, default=None)


def _summed(state: Sequence[float]) -> tuple[float, ...]:
    return (*state, sum(state))


def _fits(words: Sequence[float]) -> bool:
    return words[-1] == sum(words[:-1])
