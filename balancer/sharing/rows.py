"""Lays out rows of words in which the processes of one replica tell each other what they see of one thing. No I/O.

A table begins with a word for each seat: how often its process has begun a row. Then come sets of ways, a way has a row
for each seat. A row is written by one process only, so there are no locks.
Its words are aligned, so x86-64 and 64-bit ARM read and write them whole; a reader that meets a row between two writes
is wrong by a few answers. Rows that make no sense are ignored. In a full set, who holds most rows of a process gives
way to a namespace that holds fewer. Places follow from a secret, so no tenant chooses whom its names meet.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from math import inf
from typing import Final, NamedTuple

from balancer.sharing.guards import Buffer

_WAYS: Final = 4
_WORD_BYTES: Final = 8
AT, STATE = 1, 2  # which word of a row is what; the first one is the tag, and totals follow the state
# A number that a float holds exactly.
_TAG_BITS: Final = 52

# A row that was not written for so long belongs to somebody who is gone.
_ABANDONED_SECONDS: Final = 60.0
# How often a process looks for new rows of others.
_LOOK_SECONDS: Final = 1.0


class RowShape(NamedTuple):
    """How many sets a table has, and how many words of a state and of totals a row has."""

    sets: int
    state: int
    totals: int

    @property
    def words(self) -> int:
        """The words of a row."""
        return STATE + self.state + self.totals

    @property
    def row_bytes(self) -> int:
        """The size of a row."""
        return self.words * _WORD_BYTES

    def table_bytes(self, seats: int) -> int:
        """The size of the table for `seats` processes. Pages that are never touched cost nothing."""
        return seats * _WORD_BYTES + self.sets * _WAYS * seats * self.row_bytes


def vacate_rows(buffer: Buffer, shape: RowShape, *, start: int, seats: int, seat: int) -> None:
    """Empties the rows of `seat` of the table at the offset `start`. The process of the seat must be gone."""
    with memoryview(buffer) as whole, whole.cast("B") as octets:
        table = octets[start : start + shape.table_bytes(seats)]
        with table, table.cast("d") as words:
            step = seats * shape.words
            for tag in range(seats + seat * shape.words, len(words), step):
                if words[tag]:
                    words[tag] = 0.0


def tag_of(key: str) -> int:
    """The number under which replicas tell each other of `key`. Where its rows lie follows from a secret instead."""
    hashed = int.from_bytes(blake2b(key.encode(), digest_size=_WORD_BYTES).digest(), "big")
    return (hashed >> (64 - _TAG_BITS)) or 1


class RowPlace(NamedTuple):
    """Where rows about one thing may lie: from the word `first` on. `tag` is in those that are about the thing."""

    tag: float
    first: int
    tenant: str


class RowTable:
    """The memory as one process sees it, from its seat. `shape` is that of its rows."""

    __slots__ = ("_holders", "_seat", "_seats", "_secret", "_words", "shape")

    def __init__(
        self, buffer: Buffer, shape: RowShape, *, start: int, seats: int, seat: int, secret: bytes = b""
    ) -> None:
        """The table has `shape.table_bytes(seats)` from the offset `start` of `buffer`, zero at first.

        `secret`, which all processes know, says where things have their rows. Raises ValueError if the buffer is
        shorter.
        """
        size = shape.table_bytes(seats)
        octets = memoryview(buffer).cast("B")[start : start + size]
        if len(octets) < size:
            raise ValueError("the memory is too short for its seats")
        self._words = octets.cast("d")
        self.shape = shape
        self._seats = seats
        self._seat = seat
        self._secret = secret
        self._holders: dict[int, str] = {}

    def place(self, key: str) -> RowPlace:
        """Where rows about `key` lie, which begins with a namespace and a slash."""
        hashed = int.from_bytes(blake2b(key.encode(), digest_size=_WORD_BYTES, key=self._secret).digest(), "big")
        first = self._seats + hashed % self.shape.sets * _WAYS * self._seats * self.shape.words
        return RowPlace(float((hashed >> (64 - _TAG_BITS)) or 1), first, key.partition("/")[0])

    def talk(self, key: str) -> Talk:
        """What this process tells about `key`, which begins with a namespace and a slash, and hears of the others."""
        place = self.place(key)
        rows = self._rows(place)
        own = tuple(rows[self._seat :: self._seats])
        return Talk(
            self._words,
            place.tag,
            self.shape,
            own=_OwnRows(self._words, own, self._holders, place.tenant, seat=self._seat),
            others=tuple(row for row in rows if row not in own),
        )

    def begun(self) -> bytes:
        """Differs from what it was before if a process has begun a row since."""
        return self._words[: self._seats].tobytes()

    @property
    def begun_here(self) -> float:
        """How many rows this process has begun."""
        return self._words[self._seat]

    def others_about(self, place: RowPlace) -> tuple[int, ...]:
        """Where other processes have rows about a thing now."""
        words, rows = self._words, self._rows(place)
        found = (number for number, row in enumerate(rows) if words[row] == place.tag)
        return tuple(rows[number] for number in found if number % self._seats != self._seat)

    def row(self, start: int) -> memoryview[float]:
        """The words of the row that begins there."""
        return self._words[start : start + self.shape.words]

    def _rows(self, place: RowPlace) -> range:
        """The rows of all ways and seats."""
        words = self.shape.words
        return range(place.first, place.first + _WAYS * self._seats * words, words)


class _OwnRows:
    """The rows of a set that this process may write, for a thing of one namespace."""

    __slots__ = ("_holders", "_rows", "_seat", "_tenant", "_words")

    def __init__(
        self, words: memoryview[float], rows: tuple[int, ...], holders: dict[int, str], tenant: str, *, seat: int
    ) -> None:
        """`holders` are the namespaces of all rows of the process that are in use."""
        self._words = words
        self._rows = rows
        self._holders = holders
        self._tenant = tenant
        self._seat = seat

    def claimed(self, now: float) -> int | None:
        """A row; None while things that are in use have all of them, and no namespace has two more than this one."""
        words, holders = self._words, self._holders
        found = next(
            (row for row in self._rows if not words[row] or words[row + AT] < now - _ABANDONED_SECONDS),
            None,
        )
        if found is None:
            held = Counter(holders.get(row, "") for row in self._rows)
            most = max(held, key=lambda tenant: held[tenant])
            if held[most] < held[self._tenant] + 2:
                return None
            found = next(row for row in self._rows if holders.get(row, "") == most)
        words[found] = 0.0  # nobody may take what is written now for what was told before
        holders[found] = self._tenant
        return found

    def begin(self, row: int, tag: float) -> None:
        """Tells others that a row has all of its words, which are about the thing with `tag`."""
        self._words[row] = tag
        self._words[self._seat] += 1.0


class Talk:
    """What the processes say about one thing, which has `tag`.

    A process without room for a row of its own hears, and is not heard.
    """

    __slots__ = ("_known", "_look_at", "_others", "_own", "_row", "_shape", "_totals", "_words", "tag")

    def __init__(
        self,
        words: memoryview[float],
        tag: float,
        shape: RowShape,
        *,
        own: _OwnRows,
        others: tuple[int, ...],
    ) -> None:
        """`own` are the rows that this process may use, `others` the rows where others may write about the same."""
        self._words = words
        self.tag = tag
        self._shape = shape
        self._own = own
        self._others = others
        self._row: int | None = None
        self._totals = [0.0] * shape.totals
        self._known: dict[int, list[float]] = {}
        self._look_at = 0.0

    def tell(self, state: Sequence[float], now: float, news: Sequence[float] = ()) -> None:
        """Tells the others the present state, and what was seen since the last call."""
        row = self._own_row(now)
        if row is None:
            return
        words, totals = self._words, self._totals
        for number, value in enumerate(news):
            totals[number] += value
        # Word by word or all at once: 64-bit machines copy aligned words whole.
        words[row + AT : row + self._shape.words] = array("d", (now, *state, *totals))
        if words[row] != self.tag:
            self._own.begin(row, self.tag)  # last, so that others never read the totals of somebody else

    def put(self, source: memoryview[float], now: float) -> memoryview[float] | None:
        """Tells a whole row that was made elsewhere, and returns it, to be written as long as it has the tag.

        None: there is no room.
        """
        row = self._own_row(now)
        if row is None:
            return None
        whole = self._words[row : row + self._shape.words]
        whole[AT:] = source[AT:]
        if whole[0] != self.tag:
            self._own.begin(row, self.tag)
        return whole

    def _own_row(self, now: float) -> int | None:
        row = self._row
        if row is None or self._words[row] != self.tag:
            row = self._own.claimed(now)
            self._row = row
        return row

    def hear(self, now: float) -> Sequence[float]:
        """What the others saw since the last call, in sum. What a row holds when it is found is not news."""
        if now >= self._look_at:
            self._look(now)
        words = self._words
        sums: Sequence[float] = [0.0] * self._shape.totals
        for row, before in self._known.items():
            if words[row] != self.tag:
                continue
            totals = self._read(row)
            news = [after - earlier for after, earlier in zip(totals, before, strict=True)]
            self._known[row] = totals
            if all(0.0 <= value < inf for value in news):
                sums = [one + other for one, other in zip(sums, news, strict=True)]
        return sums

    def states(self) -> list[tuple[float, Sequence[float]]]:
        """The state of each of those who were heard, with the time at which it was told."""
        words, end = self._words, STATE + self._shape.state
        return [
            (words[row + AT], words[row + STATE : row + end].tolist()) for row in self._known if words[row] == self.tag
        ]

    def _look(self, now: float) -> None:
        words, tag = self._words, self.tag
        self._look_at = now + _LOOK_SECONDS
        found = [row for row in self._others if words[row] == tag]
        self._known = {row: self._known.get(row) or self._read(row) for row in found}

    def _read(self, row: int) -> list[float]:
        return list(self._words[row + STATE + self._shape.state : row + self._shape.words])
