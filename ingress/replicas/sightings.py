"""Makes controllers of several replicas decide by what all of them saw: carries rows of workers to and from others.

Only replicas of one zone hear each other here, because a link may be slow or fail for one zone alone. No I/O, no
clock: times are seconds of the clock of picks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import compress, repeat
from typing import Final

from balancer.sharing.relay import RowRelay, Sighted
from balancer.sharing.sums import Column, added, divided, lowest, multiplied
from ingress.replicas.other_replica import SeenNews
from ingress.replicas.seen_columns import Columns, SeenColumns, TellingColumns

READ_SECONDS: Final = 0.5
"""How often rows of the own workers are read."""

# A state that was told longer ago says nothing about now: three periods of a replica of the same zone.
_FRESH_SECONDS: Final = 1.5


class SightingSharing:
    """What workers see of the things that are followed, here and at others. `telling` is what is told."""

    __slots__ = ("_columns", "_heard", "_means", "_read_at", "_readings", "_relay", "_states", "telling")

    def __init__(self, relay: RowRelay, columns: Columns) -> None:
        self._relay = relay
        self._columns = columns
        self._read_at = float("-inf")
        self._readings = 0
        self._heard: list[SeenNews] = []
        self._states: dict[str, list[tuple[float, SeenColumns]]] = {}
        self._means: Sequence[Column] = ()
        self.telling = TellingColumns(columns)

    def follow(self, keys: Iterable[str]) -> None:
        """Carries what is seen of these from now on, and of nothing else."""
        order = self._relay.order
        self._relay.follow(keys)
        if self._relay.order != order:
            self._means = ()

    def hear(self, identity: str, news: SeenNews, now: float) -> None:
        """Takes what another replica saw since its last message."""
        if not self._relay.tags or not news.seen.tags:
            return
        if self._columns.state:
            self._states.setdefault(identity, []).append((now, news.seen))
        self._heard.append(news)

    def turn(self, now: float, *, up: Collection[str], counts: bool) -> None:
        """Reads what own workers saw, and tells them what others saw, if it `counts`.

        `up` are the replicas of the own zone. Without any nothing is done.
        """
        heard = self._heard
        self._heard = []
        if not up:
            self.telling.forget()
            self._states.clear()
            return
        if counts:
            for news in heard:
                self._take(news)
        if now - self._read_at >= READ_SECONDS:
            self._read_at = now
            self._readings += 1
            self._read(now, up)
        if counts:
            self._relay.turn(now, self._means)

    def _take(self, news: SeenNews) -> None:
        tags, columns, followed = news.seen.tags, news.grown, self._relay.tags
        if not followed.issuperset(tags):
            chosen = [tag in followed for tag in tags]
            tags, columns = tuple(compress(tags, chosen)), [[*compress(column, chosen)] for column in columns]
        self._relay.add(tags, columns)

    def _read(self, now: float, up: Collection[str]) -> None:
        """Takes what own workers saw: each second time only if a thing had so many requests that others hear of it."""
        is_whole = self._readings % 2 == 1
        least = 0 if is_whole else self._columns.few
        sighted = self._relay.read(least=least)
        if sighted is not None:
            states = self._own_states(sighted, now)
            self.telling.read(SeenColumns(sighted.tags, tuple(sighted.columns), tuple(states)), least=least)
        if is_whole:
            self._means = self._mean_states(up, now)

    def _own_states(self, sighted: Sighted, now: float) -> Sequence[Column]:
        """The means of the states that own workers told lately and that know something; 0 where nobody does."""
        words, count = len(self._columns.state), len(sighted.tags)
        if not words:
            return ()
        workers: Column = [0.0] * count
        sums: list[Column] = [workers] * words
        for numbers, at, state in sighted.layers:
            if now - lowest(at) <= _FRESH_SECONDS and lowest(state[-1]) > 0.0:  # nearly always
                knows, told = [1.0] * len(numbers), state
            else:
                known = zip(at, state[-1], strict=True)
                knows = [float(now - since <= _FRESH_SECONDS and last > 0.0) for since, last in known]
                told = tuple(multiplied(column, knows) for column in state)
            workers = _sums(workers, numbers, knows)
            sums = [_sums(before, numbers, column) for before, column in zip(sums, told, strict=True)]
        return _divided(sums, workers)

    def _mean_states(self, up: Collection[str], now: float) -> Sequence[Column]:
        """The mean state of the others by word, in the order of the relay; 0 where nobody knows one."""
        fresh = {
            identity: [each for each in told if now - each[0] <= _FRESH_SECONDS]
            for identity, told in self._states.items()
            if identity in up
        }
        self._states = {identity: told for identity, told in fresh.items() if told}
        if not self._columns.state:
            return ()
        tags = self._relay.order
        known: Column = [0.0] * len(tags)
        sums: list[Column] = [known] * len(self._columns.state)
        for told in self._states.values():
            columns = _newest_states(tags, [seen for _, seen in told])
            knows = [1.0] * len(tags)
            if lowest(columns[-1]) <= 0.0:
                knows = [*map(float, map(bool, columns[-1]))]
                columns = [multiplied(column, knows) for column in columns]
            known = added(known, knows)
            sums = [*map(added, sums, columns)]
        return _divided(sums, known)


def _newest_states(tags: tuple[int, ...], told: Sequence[SeenColumns]) -> Sequence[Column]:
    """The newest state of each thing, by column; 0 of what was not told."""
    last = told[-1]
    if last.tags == tags:  # nearly always: all that had requests have them again
        return last.state
    newest: dict[int, tuple[float, ...]] = {}
    for seen in told:
        newest.update(zip(seen.tags, zip(*seen.state, strict=True), strict=True))
    nothing = (0.0,) * len(last.state)
    return [*zip(*map(newest.get, tags, repeat(nothing)), strict=True)]


def _divided(sums: Iterable[Column], counts: Column) -> Sequence[Column]:
    """The means of which these are the sums, column by column; 0 of nothing."""
    divisors = counts if lowest(counts) >= 1.0 else [*map(max, counts, repeat(1.0))]
    return [divided(column, divisors) for column in sums]


def _sums(sums: Column, numbers: Sequence[int], values: Column) -> Column:
    """The sums after values were added to those with these numbers."""
    if len(numbers) == len(sums):
        return added(sums, values)  # nearly always: each worker knows each thing
    found = [*sums]
    for number, value in zip(numbers, values, strict=True):
        found[number] += value
    return found
