"""Carries rows between the processes of this replica and other replicas: what workers saw here, and what others saw.

The control process has a seat of its own. To the workers it is one more process that has seen something. No I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from balancer.sharing.rows import RowTable, Talk, tag_of


class _RelayedRow:
    __slots__ = ("part", "parts_left", "talk", "totals")

    def __init__(self, talk: Talk, width: int) -> None:
        self.talk = talk
        self.totals = [0.0] * width
        self.part: list[float] = []
        self.parts_left = 0


class RowRelay:
    """Rows about the things that are followed, each under the number of `tag_of`. `tags` are these numbers."""

    __slots__ = ("_lines", "_parts", "_state", "_table", "tags")

    def __init__(self, table: RowTable, *, state: tuple[float, ...], parts: int = 1) -> None:
        """`state` is told while others have none. What came at once is told in so many `parts`, one a turn."""
        self._parts = parts
        self._table = table
        self._state = state
        self._lines: dict[int, _RelayedRow] = {}
        self.tags: frozenset[int] = frozenset()

    def follow(self, keys: Iterable[str]) -> None:
        """Carries rows about these things from now on. Totals of what is followed still go on."""
        tags = {tag_of(key): key for key in keys}
        width = self._table.width
        self._lines = {
            tag: self._lines.get(tag) or _RelayedRow(self._table.talk(key), width) for tag, key in sorted(tags.items())
        }
        self.tags = frozenset(self._lines)

    def read(self, now: float) -> Mapping[int, Sequence[float]]:
        """The running totals of what the workers saw, without those that saw nothing yet. `now`: the clock of picks."""
        for line in self._lines.values():
            news = line.talk.hear(now)
            if any(news):
                line.totals = [total + new for total, new in zip(line.totals, news, strict=True)]
        return {tag: line.totals for tag, line in self._lines.items() if any(line.totals)}

    def states(self, tag: int) -> list[tuple[float, Sequence[float]]]:
        """The states that workers told of one thing, with their times."""
        return self._lines[tag].talk.states()

    def add(self, tag: int, news: Sequence[float]) -> None:
        """Others saw this. Workers hear it in parts, in the turns to come."""
        line = self._lines[tag]
        rest = [value * line.parts_left for value in line.part] or [0.0] * len(news)
        line.part = [(value + before) / self._parts for value, before in zip(news, rest, strict=True)]
        line.parts_left = self._parts

    def turn(self, now: float, states: Mapping[int, tuple[float, ...]]) -> None:
        """Tells workers the next part of what others saw, with the states of others where there are some."""
        for tag, line in self._lines.items():
            if line.parts_left:
                line.parts_left -= 1
                line.talk.tell(states.get(tag, self._state), now, line.part)
