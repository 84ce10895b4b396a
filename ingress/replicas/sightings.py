"""Makes controllers of several replicas decide by what all of them saw: carries rows of workers to and from others.

Only replicas of one zone hear each other here, because a link may be slow or fail for one zone alone. No I/O, no
clock: times are seconds of the clock of picks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import add, itemgetter, mul, truediv
from typing import Final, NamedTuple

from balancer.sharing.peers import Seen
from balancer.sharing.relay import RowRelay
from balancer.sharing.zone_peers import PLACES
from ingress.replicas.messages import SeenRow

READ_SECONDS: Final = 0.5
"""How often rows of the own workers are read."""

_MICROS: Final = 1_000_000.0
# A state that was told longer ago says nothing about now: three periods of a replica of the same zone.
_FRESH_SECONDS: Final = 1.5
# One request takes no longer than that, so totals that say so are wrong.
_SECONDS_MOST: Final = 3600.0


class Columns(NamedTuple):
    """What the totals and the state of a row mean: by which factors they are told."""

    totals: tuple[float, ...]
    state: tuple[float, ...] = ()

    def are_plausible(self, news: Sequence[int], requests_most: float) -> bool:
        """Whether these totals can have come at once, if no more than so many requests did."""
        counts = _counts_of(self.totals)(news)
        most, micros = max(counts), sum(news) - sum(counts)
        return most <= requests_most and micros <= (most + 1) * _SECONDS_MOST * _MICROS * len(counts)


@lru_cache(maxsize=8)
def _counts_of(totals: tuple[float, ...]) -> Callable[[Sequence[int]], tuple[int, ...]]:
    """Picks out of totals those that are told as they are, which are counts. There are at least two."""
    return itemgetter(*(place for place, factor in enumerate(totals) if factor == 1.0))


LOADS: Final = Columns((1.0, 1.0, 1.0, _MICROS, 1.0, _MICROS), (10_000.0, _MICROS))
"""What controllers of `adaptive` see of a backend (`Seen`), their share and their baseline."""

ZONES: Final = Columns((1.0,) * (2 * PLACES) + (_MICROS,))
"""Answers of a zone of a backend that fails (`ZoneSeen`)."""

assert len(LOADS.totals) == len(Seen._fields)


class SightingSharing:
    """What workers see of the things that are followed, here and at others. `rows` is what is told.

    `taken` is what others have told of the first column, by tag.
    """

    __slots__ = ("_columns", "_heard", "_means", "_read_at", "_relay", "_states", "rows", "taken")

    def __init__(self, relay: RowRelay, columns: Columns) -> None:
        self._relay = relay
        self._columns = columns
        self._read_at = float("-inf")
        self._heard: dict[int, list[float]] = {}
        self._states: dict[tuple[str, int], tuple[float, tuple[float, ...]]] = {}
        self._means: dict[int, tuple[float, ...]] = {}
        self.rows: dict[int, SeenRow] = {}
        self.taken: dict[int, int] = {}

    def follow(self, keys: Iterable[str]) -> None:
        """Carries what is seen of these from now on, and of nothing else."""
        self._relay.follow(keys)
        tags = self._relay.tags
        self.taken = {tag: count for tag, count in self.taken.items() if tag in tags}

    def hear(self, identity: str, news: Mapping[int, SeenRow], now: float) -> None:
        """Takes what another replica saw since its last message, by tag."""
        columns, heard = self._columns, self._heard
        for tag in news.keys() & self._relay.tags:
            row = news[tag]
            self.taken[tag] = self.taken.get(tag, 0) + row.totals[0]
            seen = [*map(truediv, row.totals, columns.totals)]
            before = heard.get(tag)
            heard[tag] = seen if before is None else [*map(add, before, seen)]
            if len(row.state) == len(columns.state):
                self._states[identity, tag] = now, tuple(map(truediv, row.state, columns.state))

    def turn(self, now: float, *, up: Collection[str], counts: bool) -> None:
        """Reads what own workers saw, and tells them what others saw, if it `counts`.

        `up` are the replicas of the own zone. Without any nothing is done.
        """
        if not up:
            self.rows = {}
            self._heard.clear()
            return
        if now - self._read_at >= READ_SECONDS:
            self._read_at = now
            tags = self._relay.tags
            self.rows = {tag: self._row(tag, totals, now) for tag, totals in self._relay.read(now).items()}
            self._states = {
                (identity, tag): state
                for (identity, tag), state in self._states.items()
                if identity in up and now - state[0] <= _FRESH_SECONDS and tag in tags
            }
            self._means = self._mean_states()
        if counts:
            for tag, seen in self._heard.items():
                self._relay.add(tag, seen)
            self._relay.turn(now, self._means)
        self._heard.clear()

    def _row(self, tag: int, totals: Sequence[float], now: float) -> SeenRow:
        told = tuple(map(round, map(mul, totals, self._columns.totals)))
        return SeenRow(tag, told, self._own_state(tag, now) if self._columns.state else ())

    def _own_state(self, tag: int, now: float) -> tuple[int, ...]:
        """The mean of the states that own workers told lately and that know something."""
        known = [state for at, state in self._relay.states(tag) if now - at <= _FRESH_SECONDS and state[-1] > 0.0]
        columns = zip(*known, strict=True)
        return tuple(
            round(sum(column) / len(known) * factor)
            for column, factor in zip(columns, self._columns.state, strict=False)
        )

    def _mean_states(self) -> dict[int, tuple[float, ...]]:
        """The mean state of the others, by tag."""
        sums: dict[int, tuple[float, ...]] = {}
        counts: dict[int, int] = {}
        for (_, tag), (_, state) in self._states.items():
            if state and state[-1] > 0.0:
                before = sums.get(tag)
                sums[tag] = state if before is None else tuple(map(add, before, state))
                if before is not None:
                    counts[tag] = counts.get(tag, 1) + 1
        return sums | {tag: tuple(value / count for value in sums[tag]) for tag, count in counts.items()}
