"""Keeps what another replica told lately, so that what is known of it stays bounded however long it lives. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Final, Generic, TypeVar

from ingress.translation.sharing import fairly_first

EXCHANGES: Final = 64
"""What was told in none of so many messages with rows of its kind is gone: a replica tells all rows again with each
20th message.
"""

NAMES_MOST: Final = 8192
"""Of one replica so many Services are known. So are rows of each kind of what workers saw, beside those of its last
message.
"""

_Name = TypeVar("_Name", bound=Hashable)
_Row = TypeVar("_Row")


class RecentRows(Generic[_Name, _Row]):
    """The newest row about each name, of the names that were told last. `rows` must not be changed elsewhere."""

    __slots__ = ("_count", "_most", "_told", "rows")

    def __init__(self, most: int = NAMES_MOST) -> None:
        """No more than `most` names are known, which is at least as many as one message may have."""
        self.rows: dict[_Name, _Row] = {}
        self._most = most
        self._count = 0
        self._told: dict[_Name, int] = {}  # with which message each name was told last

    def learn(self, news: Mapping[_Name, _Row]) -> None:
        """Takes the rows of a message. Names that were told longest ago make room for them."""
        if not news:
            return
        self._count += 1
        self.rows.update(news)
        self._told.update(dict.fromkeys(news, self._count))
        if len(self.rows) > self._most or self._count % EXCHANGES == 0:
            self._forget()

    def _forget(self) -> None:
        since, told = self._count - EXCHANGES, self._told
        kept = [name for name, count in told.items() if count > since]
        if len(kept) > self._most:
            kept = sorted(kept, key=told.__getitem__, reverse=True)[: self._most]
        self._told = {name: told[name] for name in kept}
        for name in self.rows.keys() - self._told.keys():
            del self.rows[name]


def remembered(names: Collection[str]) -> frozenset[str]:
    """The names of which others remember rows: of too many the first ones of each namespace, with which names begin.

    They are the same at each replica.
    """
    if len(names) <= NAMES_MOST:
        return frozenset(names)
    return frozenset(fairly_first(sorted(names), NAMES_MOST, namespace_of))


def namespace_of(name: str) -> str:
    """The namespace with which the name of a Service or backend begins."""
    return name.partition("/")[0]
