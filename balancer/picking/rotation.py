"""Rotates over items, and survives a change of the items. Has no randomness of its own: the start is an argument."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any


class Rotation:
    """Hands out items of one kind in turn. In any n calls of `next`, each of n items comes once.

    It is not generic: a typed class cannot derive from `Generic`.
    """

    __slots__ = ("_items", "_position")

    def __init__(self, items: Sequence[Any], *, start: int = 0) -> None:
        """`start` is the index of the first turn, modulo the number of items."""
        self._items = tuple(items)
        self._position = start % len(self._items) if self._items else 0

    @property
    def items(self) -> tuple[Any, ...]:
        """All items, in no particular order."""
        return self._items

    def next(self) -> Any:
        """The item whose turn it is; None without items."""
        items, position = self._items, self._position
        if position >= len(items):
            if not items:
                return None
            position = 0
        self._position = position + 1
        return items[position]

    def next_where(self, accepts: Callable[[Any], bool]) -> Any:
        """The first item in turn that `accepts`; None if there is none. Items that are passed over keep their turn.

        Takes a pass over all items, so use it only for exceptions such as retries.
        """
        waiting = self.upcoming()
        for place, item in enumerate(waiting):
            if accepts(item):
                self._items = (*waiting[:place], *waiting[place + 1 :], item)
                self._position = 0
                return item
        return None

    def upcoming(self) -> tuple[Any, ...]:
        """All items in the order of their next turns."""
        return self._items[self._position :] + self._items[: self._position]

    def resized(self, items: Sequence[Any], *, key: Callable[[Any], Hashable], start: int = 0) -> Rotation:
        """A rotation over `items` that continues where this one stands. This one stays unchanged.

        Items with the same `key` are the same, and the new object is used. Remaining items keep their order and turn.
        New items join behind them, from the index `start` on, so no item is served twice while another waits.
        """
        joining = {key(item): item for item in items}
        staying = [joining.pop(item_key) for item_key in map(key, self.upcoming()) if item_key in joining]
        return Rotation([*staying, *Rotation(tuple(joining.values()), start=start).upcoming()])
