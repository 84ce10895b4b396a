"""Carries rows between the processes of this replica and other replicas: what workers saw here, and what others saw.

The control process has a seat of its own. To the workers it is one more process that has seen something. No I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple

from balancer.sharing.columns import Layer, RowReader, RowWriter
from balancer.sharing.rows import RowTable, Talk, tag_of
from balancer.sharing.sums import Column, added, nearer


class Sighted(NamedTuple):
    """What the workers saw of the things with these `tags`: running totals by column, and the states that they told."""

    tags: tuple[int, ...]
    columns: Sequence[Column]
    layers: Sequence[Layer]


class RowRelay:
    """Rows about the things that are followed, each under the number of `tag_of`. `tags` are these numbers, `order` is
    their order in columns, the same in all replicas that follow the same things.
    """

    __slots__ = ("_keys", "_reader", "_table", "_telling", "order", "tags")

    def __init__(self, table: RowTable, *, parts: int = 1, part_seconds: float = 0.0) -> None:
        """What came at once is told in so many `parts`, which follow each other after `part_seconds`."""
        self._table = table
        self._keys: dict[int, str] = {}
        self._reader = RowReader(table, (), ())
        self._telling = _Telling(table, parts, part_seconds)
        self.tags: frozenset[int] = frozenset()
        self.order: tuple[int, ...] = ()

    def follow(self, keys: Iterable[str]) -> None:
        """Carries rows about these things from now on. Totals of what is followed still go on."""
        followed = {tag_of(key): key for key in sorted(keys)}
        if followed.keys() == self._keys.keys():
            return
        known = dict(zip(self._keys, zip(*self._reader.columns, strict=True), strict=True))
        nothing = (0.0,) * self._table.shape.totals
        columns = [[*column] for column in zip(*(known.get(tag, nothing) for tag in followed), strict=True)]
        self._keys = followed
        self._reader = RowReader(self._table, [self._table.place(key) for key in followed.values()], columns)
        self._telling.keep(followed)
        self.tags = frozenset(followed)
        self.order = tuple(followed)

    def read(self, *, least: float = 0.0) -> Sighted | None:
        """What the workers saw; None if the first total of no thing can have grown by `least` since it was read."""
        layers = self._reader.read(least=least)
        return None if layers is None else Sighted(self.order, self._reader.columns, layers)

    def add(self, tags: tuple[int, ...], columns: Sequence[Column]) -> None:
        """Others saw this of things that are followed. Workers hear it in parts, in the turns to come."""
        if tags:
            self._telling.add(tags, columns, self._keys)

    def turn(self, now: float, states: Sequence[Column] = ()) -> None:
        """Tells workers the next part of what others saw, with the states of others by word, in the order of `order`.

        `states` is another object whenever it has changed; without any, words of states stay as they are, 0 at first.
        """
        self._telling.turn(now, states, self.order)


class _Telling:
    """What workers are told of the things in `_order`: totals that come nearer to what others saw with each turn."""

    __slots__ = (
        "_known",
        "_left",
        "_order",
        "_part_seconds",
        "_parts",
        "_seen",
        "_states",
        "_table",
        "_talks",
        "_told",
        "_told_at",
        "_writer",
    )

    def __init__(self, table: RowTable, parts: int, part_seconds: float) -> None:
        self._table = table
        self._parts = parts
        self._part_seconds = part_seconds
        self._told_at = float("-inf")
        self._left = 0  # turns until all is told
        self._talks: dict[int, Talk] = {}
        self._known: dict[int, tuple[float, ...]] = {}  # totals of things that were told before
        self._order: tuple[int, ...] = ()
        self._seen: list[Column] = []
        self._told: list[Column] = []
        self._states: Sequence[Column] = ()
        self._writer = RowWriter((), table)

    def keep(self, followed: Mapping[int, str]) -> None:
        """Nothing but these things is told from now on."""
        self._arrange(tuple(tag for tag in self._order if tag in followed))
        self._talks = {tag: talk for tag, talk in self._talks.items() if tag in followed}
        self._known = {tag: totals for tag, totals in self._known.items() if tag in followed}

    def add(self, tags: tuple[int, ...], columns: Sequence[Column], keys: Mapping[int, str]) -> None:
        """What is left of earlier news is told with these. `keys` are the names of the things."""
        order = self._order if self._left else ()
        if order != tags:
            known = frozenset(order)
            fresh = tuple(tag for tag in tags if tag not in known)
            self._talks |= {tag: self._table.talk(keys[tag]) for tag in fresh if tag not in self._talks}
            if fresh and (*order, *fresh) != self._order:
                self._arrange((*order, *fresh))
            if self._order != tags:
                by_tag = [dict(zip(tags, column, strict=True)) for column in columns]
                columns = [[*map(each.get, self._order, repeat(0.0))] for each in by_tag]
        self._seen = [added(before, news) for before, news in zip(self._seen, columns, strict=True)]
        self._left = self._parts

    def turn(self, now: float, states: Sequence[Column], order: tuple[int, ...]) -> None:
        """Tells the next part. `states` are in this order."""
        if not self._left or now - self._told_at < self._part_seconds:
            return
        self._told_at = now
        part = 1.0 / self._left
        self._left -= 1
        if self._left:
            self._told = [nearer(told, seen, part) for told, seen in zip(self._told, self._seen, strict=True)]
        else:
            self._told = self._seen
        if states is not self._states:
            self._states = states
            self._writer.hold(_ordered(states, order, self._order))
        self._writer.tell(now, self._told)

    def _arrange(self, order: tuple[int, ...]) -> None:
        """From now on these things are told."""
        told = dict(zip(self._order, zip(*self._told, strict=True), strict=True))
        self._known |= zip(self._order, zip(*self._seen, strict=True), strict=True)
        self._order = order
        self._seen = self._columns_of(self._known)
        self._told = self._columns_of(self._known | told)
        self._states = ()
        self._writer = RowWriter([self._talks[tag] for tag in order], self._table)

    def _columns_of(self, rows: Mapping[int, tuple[float, ...]]) -> list[Column]:
        nothing = (0.0,) * self._table.shape.totals
        return [[*column] for column in zip(*(rows.get(tag, nothing) for tag in self._order), strict=True)]


def _ordered(columns: Sequence[Column], order: tuple[int, ...], wanted: tuple[int, ...]) -> Sequence[Column]:
    """The columns of things in `order` for those that are wanted, in their order."""
    if order == wanted:
        return columns
    places = dict(zip(order, range(len(order)), strict=True))
    return [[column[places[tag]] for tag in wanted] for column in columns]
