"""Lays out the memory in which workers of one replica tell each other what they see of a zone. No I/O.

The table has sets of ways, a way has a row for each seat. A row is written by one process only, so there are no locks.
It holds a tag (which backend and zone it is about), the time, running totals of what was seen, the share and the
baseline. Every value is an aligned word, which x86-64 and 64-bit ARM write and read whole. A reader that meets a row
between two writes is wrong by a few answers. Rows that make no sense are ignored.
"""

from __future__ import annotations

from hashlib import blake2b
from math import inf
from typing import Final

from balancer.sharing.guards import Buffer
from balancer.sharing.peers import ALONE, Heard, Peers, Seen

_SETS: Final = 2048
_WAYS: Final = 4
_WORD_BYTES: Final = 8
_TAG, _AT, _SHARE, _BASELINE, _TOTALS = 0, 1, 2, 3, 4
_ROW: Final = _TOTALS + len(Seen._fields)
# A number that a float holds exactly.
_TAG_BITS: Final = 52

# A share and a baseline that are older say nothing about now. Running totals cannot be too old.
_FRESH_SECONDS: Final = 2.0
# A row that was not written for so long belongs to a controller that is gone.
_ABANDONED_SECONDS: Final = 60.0
# How often a controller looks for new rows of others.
_LOOK_SECONDS: Final = 1.0


def peer_table_bytes(seats: int) -> int:
    """The size of the table for `seats` processes. Pages that are never touched cost nothing."""
    return _SETS * _WAYS * seats * _ROW * _WORD_BYTES


def vacate_peers(buffer: Buffer, *, start: int, seats: int, seat: int) -> None:
    """Empties the rows of `seat` of the table at the offset `start`. The process of the seat must be gone."""
    with memoryview(buffer) as whole, whole.cast("B") as octets:
        table = octets[start : start + peer_table_bytes(seats)]
        with table, table.cast("d") as words:
            step = seats * _ROW
            for tag in range(seat * _ROW, _SETS * _WAYS * step, step):
                if words[tag]:
                    words[tag] = 0.0


class PeerTable:
    """The memory as one worker sees it, from its seat."""

    __slots__ = ("_seat", "_seats", "_words")

    def __init__(self, buffer: Buffer, *, start: int, seats: int, seat: int) -> None:
        """The table has `peer_table_bytes(seats)` from the offset `start` of `buffer`, zero at first.

        Raises ValueError if the buffer is shorter.
        """
        octets = memoryview(buffer).cast("B")[start : start + peer_table_bytes(seats)]
        if len(octets) < peer_table_bytes(seats):
            raise ValueError("the memory is too short for its seats")
        self._words = octets.cast("d")
        self._seats = seats
        self._seat = seat

    def peers(self, key: str) -> Peers:
        """The peers of a controller. They are alone if the table has no room."""
        hashed = int.from_bytes(blake2b(key.encode(), digest_size=_WORD_BYTES).digest(), "big")
        tag = float((hashed >> (64 - _TAG_BITS)) or 1)
        first = hashed % _SETS * _WAYS * self._seats * _ROW
        seats = [range(way, way + self._seats * _ROW, _ROW) for way in self._ways(first)]
        return _TablePeers(
            self._words,
            tag,
            own=tuple(rows[self._seat] for rows in seats),
            others=tuple(row for rows in seats for seat, row in enumerate(rows) if seat != self._seat),
        )

    def _ways(self, first: int) -> range:
        step = self._seats * _ROW
        return range(first, first + _WAYS * step, step)


class _TablePeers:
    __slots__ = ("_known", "_look_at", "_others", "_own", "_row", "_tag", "_totals", "_words")

    def __init__(self, words: memoryview[float], tag: float, *, own: tuple[int, ...], others: tuple[int, ...]) -> None:
        """`own` are the rows that this seat may use, `others` the rows where others may write about the same."""
        self._words = words
        self._tag = tag
        self._own = own
        self._others = others
        self._row: int | None = None
        self._totals = [0.0] * len(Seen._fields)
        self._known: dict[int, list[float]] = {}
        self._look_at = 0.0

    def exchange(self, seen: Seen, *, share: float, baseline: float, now: float) -> Heard:
        self._tell(seen, share=share, baseline=baseline, now=now)
        if now >= self._look_at:
            self._look(now)
        if not self._known:
            return ALONE.exchange(seen, share=share, baseline=baseline, now=now)
        return self._heard(now)

    def _tell(self, seen: Seen, *, share: float, baseline: float, now: float) -> None:
        words, row = self._words, self._row
        if row is None or words[row] != self._tag:
            row = self._claimed(now)
            self._row = row
            if row is None:
                return
        totals = self._totals
        for number, value in enumerate(seen):
            totals[number] += value
            words[row + _TOTALS + number] = totals[number]
        words[row + _AT], words[row + _SHARE], words[row + _BASELINE] = now, share, baseline
        words[row + _TAG] = self._tag  # last, so that others never read the totals of another controller

    def _claimed(self, now: float) -> int | None:
        """A row for this controller; None while controllers that are in use have all of them."""
        words = self._words
        return next(
            (row for row in self._own if not words[row] or words[row + _AT] < now - _ABANDONED_SECONDS),
            None,
        )

    def _look(self, now: float) -> None:
        """Finds the rows of others. What a new row holds already is not news."""
        words, tag = self._words, self._tag
        self._look_at = now + _LOOK_SECONDS
        found = [row for row in self._others if words[row] == tag]
        self._known = {row: self._known.get(row) or self._read(row) for row in found}

    def _read(self, row: int) -> list[float]:
        return list(self._words[row + _TOTALS : row + _ROW])

    def _heard(self, now: float) -> Heard:
        words = self._words
        sums = [0.0] * len(Seen._fields)
        shares: list[float] = []
        baselines: list[float] = []
        for row, before in self._known.items():
            if words[row] != self._tag:
                continue
            totals = self._read(row)
            news = [after - earlier for after, earlier in zip(totals, before, strict=True)]
            self._known[row] = totals
            if all(0.0 <= value < inf for value in news):
                sums = [one + other for one, other in zip(sums, news, strict=True)]
            share, baseline = words[row + _SHARE], words[row + _BASELINE]
            is_fresh = words[row + _AT] >= now - _FRESH_SECONDS
            if is_fresh and 0.0 <= share <= 1.0 and 0.0 < baseline < inf:
                shares.append(share)
                baselines.append(baseline)
        if not shares:
            return Heard(Seen(*sums))
        return Heard(Seen(*sums), sum(shares) / len(shares), sum(baselines) / len(baselines))
