"""Knows which clients are counted at one place together: where a place has several, its counts are nobody's alone.

Clients are told apart by few places (`zone_peers.PLACES`), to which they are hashed. Two of them have one place by
chance, and then the failures of one look like those of the other. What was noted counts for one to two turns. Does not
know what is counted. Knows only the clients of its own process.
"""

from __future__ import annotations

from typing import Final

_Names = dict[int, bytes | None]  # None: several

TURN_SECONDS: Final = 10.0
"""A turn lasts so long."""


class Namesakes:
    """The clients of each place, of this turn and of the last one."""

    __slots__ = ("_before", "_now", "_until")

    def __init__(self) -> None:
        self._now: _Names = {}
        self._before: _Names = {}
        self._until = 0.0

    def note(self, place: int, name: bytes, now: float) -> None:
        """A client was counted at a place at `now`, in seconds."""
        if now >= self._until:
            self._before = self._now if now < self._until + TURN_SECONDS else {}
            self._now = {}
            self._until = now + TURN_SECONDS
        if self._now.setdefault(place, name) != name:
            self._now[place] = None

    def are_several(self, place: int) -> bool:
        """Whether more than one client was counted at the place lately."""
        names = {noted[place] for noted in (self._now, self._before) if place in noted}
        return len(names) > 1 or None in names
