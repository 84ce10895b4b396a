"""Makes controllers of several replicas decide by what all of them saw: carries rows of workers to and from others.

Only replicas of one zone hear each other here, because a link may be slow or fail for one zone alone. No I/O, no
clock: times are seconds of the clock of picks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import compress, repeat
from operator import add, attrgetter, mul, truediv
from typing import Final, NamedTuple

from balancer.sharing.peers import Seen
from balancer.sharing.relay import RowRelay, Sighted
from balancer.sharing.zone_peers import PLACES
from ingress.replicas.messages import SeenRow
from ingress.replicas.other_replica import SeenNews

READ_SECONDS: Final = 0.5
"""How often rows of the own workers are read."""

_MICROS: Final = 1_000_000.0
# A state that was told longer ago says nothing about now: three periods of a replica of the same zone.
_FRESH_SECONDS: Final = 1.5
# One request takes no longer than that, so totals that say so are wrong.
_SECONDS_MOST: Final = 3600.0
_STATE = attrgetter("state")


class Columns(NamedTuple):
    """What the totals and the state of a row mean: by which factors they are told. Counts are told as they are."""

    totals: tuple[float, ...]
    state: tuple[float, ...] = ()

    def are_plausible(self, news: Sequence[Sequence[int]], requests_most: float) -> bool:
        """Whether totals of rows, by column, can have grown by that at once, if no more than so many requests came."""
        counts = [column for column, factor in zip(news, self.totals, strict=True) if factor == 1.0]
        times = [column for column, factor in zip(news, self.totals, strict=True) if factor != 1.0]
        if max(map(max, counts)) > requests_most:
            return False
        most = _SECONDS_MOST * _MICROS * len(counts)
        if max(map(max, times)) * len(times) <= most:
            return True  # nearly always
        rows = zip(zip(*counts, strict=True), zip(*times, strict=True), strict=True)
        return all(sum(micros) <= (max(requests) + 1) * most for requests, micros in rows)


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
        self._heard: list[SeenNews] = []
        self._states: dict[str, list[tuple[float, SeenNews]]] = {}
        self._means: dict[int, tuple[float, ...]] = {}
        self.rows: dict[int, SeenRow] = {}
        self.taken: dict[int, int] = {}

    def follow(self, keys: Iterable[str]) -> None:
        """Carries what is seen of these from now on, and of nothing else."""
        self._relay.follow(keys)
        tags = self._relay.tags
        self.taken = {tag: count for tag, count in self.taken.items() if tag in tags}

    def hear(self, identity: str, news: SeenNews, now: float) -> None:
        """Takes what another replica saw since its last message."""
        if not self._relay.tags or not news.tags:
            return
        if self._columns.state:
            self._states.setdefault(identity, []).append((now, news))
        self._heard.append(news)

    def turn(self, now: float, *, up: Collection[str], counts: bool) -> None:
        """Reads what own workers saw, and tells them what others saw, if it `counts`.

        `up` are the replicas of the own zone. Without any nothing is done.
        """
        heard = self._heard
        self._heard = []
        if not up:
            self.rows = {}
            self._states.clear()
            return
        for news in heard:
            self._take(news, counts=counts)
        if now - self._read_at >= READ_SECONDS:
            self._read_at = now
            self.rows = self._own_rows(now)
            self._means = self._mean_states(up, now)
        if counts:
            self._relay.turn(now, self._means)

    def _take(self, news: SeenNews, *, counts: bool) -> None:
        tags, columns, followed = news.tags, news.columns, self._relay.tags
        if not followed.issuperset(tags):
            chosen = [tag in followed for tag in tags]
            tags, columns = [*compress(tags, chosen)], [[*compress(column, chosen)] for column in columns]
        if not tags:
            return
        self.taken.update(zip(tags, map(add, map(self.taken.get, tags, repeat(0)), columns[0]), strict=True))
        if counts:
            self._relay.add(tags, columns, self._columns.totals)

    def _own_rows(self, now: float) -> dict[int, SeenRow]:
        """What own workers saw, without things of which they saw nothing yet."""
        sighted = self._relay.read(now)
        columns = [
            [*(map(int, column) if by == 1.0 else map(round, map(mul, column, repeat(by))))]
            for column, by in zip(sighted.columns, self._columns.totals, strict=True)
        ]
        told = zip(sighted.tags, zip(*columns, strict=True), self._own_states(sighted, now), strict=True)
        return {tag: SeenRow(tag, totals, state) for tag, totals, state in told if any(totals)}

    def _own_states(self, sighted: Sighted, now: float) -> Iterable[tuple[int, ...]]:
        """The means of the states that own workers told lately and that know something."""
        factors, count = self._columns.state, len(sighted.tags)
        if not factors:
            return repeat((), count)
        workers, sums = [0.0] * count, [[0.0] * count for _ in factors]
        for numbers, at, state in sighted.layers:
            knows = [now - since <= _FRESH_SECONDS and last > 0.0 for since, last in zip(at, state[-1], strict=True)]
            _add(workers, numbers, knows)
            for column, words in zip(sums, state, strict=True):
                _add(column, numbers, [*map(mul, words, knows)])
        most = [*map(max, workers, repeat(1))]
        told = [
            map(round, map(mul, map(truediv, column, most), repeat(by)))
            for column, by in zip(sums, factors, strict=True)
        ]
        return (state if known else () for known, state in zip(workers, zip(*told, strict=True), strict=True))

    def _mean_states(self, up: Collection[str], now: float) -> dict[int, tuple[float, ...]]:
        """The mean state of the others, by tag."""
        self._states = {
            identity: [each for each in told if now - each[0] <= _FRESH_SECONDS]
            for identity, told in self._states.items()
            if identity in up
        }
        if not self._columns.state or not self._states:
            return {}
        tags, factors = [*self._relay.tags], self._columns.state
        nothing = (0,) * len(factors)
        known, sums = [0] * len(tags), [[0] * len(tags) for _ in factors]
        for told in self._states.values():
            newest: dict[int, tuple[int, ...]] = {}
            for _, news in told:
                newest.update(zip(news.tags, map(_STATE, news.rows), strict=True))
            columns = [*zip(*(newest.get(tag) or nothing for tag in tags), strict=True)]
            knows = [last > 0 for last in columns[-1]]
            known = [*map(add, known, knows)]
            sums = [[*map(add, before, map(mul, column, knows))] for before, column in zip(sums, columns, strict=True)]
        heard = [*compress(tags, known)]
        by = [[*map(mul, compress(known, known), repeat(factor))] for factor in factors]
        means = [map(truediv, compress(column, known), each) for column, each in zip(sums, by, strict=True)]
        return dict(zip(heard, zip(*means, strict=True), strict=True))


def _add(sums: list[float], numbers: Sequence[int], values: Sequence[float]) -> None:
    """Adds values to the sums with these numbers."""
    if len(numbers) == len(sums):
        sums[:] = map(add, sums, values)  # nearly always: each worker knows each thing
        return
    for number, value in zip(numbers, values, strict=True):
        sums[number] += value
