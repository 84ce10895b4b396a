"""Round robin that survives a change of what it rotates over. No randomness of its own: the start is given."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Rotation(Generic[_T]):
    """Hands out items in turn. Each of n items comes once in any n calls of `next`."""

    __slots__ = ("_items", "_position")

    def __init__(self, items: Sequence[_T], *, start: int = 0) -> None:
        """`start` is the place of the first turn, taken modulo the number of items."""
        self._items = tuple(items)
        self._position = start % len(self._items) if self._items else 0

    @property
    def items(self) -> tuple[_T, ...]:
        """All items, in no particular order."""
        return self._items

    def next(self) -> _T | None:
        """The item whose turn it is; None of none."""
        items, position = self._items, self._position
        if position >= len(items):
            if not items:
                return None
            position = 0
        self._position = position + 1
        return items[position]

    def next_where(self, accepts: Callable[[_T], bool]) -> _T | None:
        """The first item in turn that `accepts` takes; None if it takes none. What is passed over keeps its turn.

        Costs a pass over all items, so it is for the exception (a retry) only.
        """
        waiting = self.upcoming()
        for place, item in enumerate(waiting):
            if accepts(item):
                self._items = (*waiting[:place], *waiting[place + 1 :], item)
                self._position = 0
                return item
        return None

    def upcoming(self) -> tuple[_T, ...]:
        """All items in the order of their next turns."""
        return self._items[self._position :] + self._items[: self._position]

    def resized(self, items: Sequence[_T], *, key: Callable[[_T], Hashable], start: int = 0) -> Rotation[_T]:
        """A rotation over `items` that goes on where this one stands; this one is left as it is.

        Items are the same if their `key` is, and then the one in `items` is used. Those that stay keep their order and
        turn; new ones join behind them, from the place `start` on, so nobody is served twice while another waits.
        """
        joining = {key(item): item for item in items}
        staying = [joining.pop(item_key) for item_key in map(key, self.upcoming()) if item_key in joining]
        return Rotation([*staying, *Rotation(tuple(joining.values()), start=start).upcoming()])
