"""Says which standings may be written: those whose model every worker of this replica serves.

A status that says Programmed before that would be a promise. While models come faster than workers take them, the
oldest that waits is kept, so that statuses never wait for an end of changes.
"""

from __future__ import annotations

import msgspec

from ingress.translation.gateway.own_ports import Exposure
from ingress.translation.gateway.standings import ObjectStanding


class Judgement(msgspec.Struct, frozen=True):
    """What statuses should say, and Services should be, by one translation.

    `generation` is that of the publication with its model. `seen_at` is the stamp of the inventory that it saw.
    """

    standings: tuple[ObjectStanding, ...] = ()
    exposures: tuple[Exposure, ...] = ()
    generation: int = 0
    seen_at: int = 0


class JudgementsInUse:
    """The judgement in use, the next one, and the newest."""

    __slots__ = ("_current", "_newest", "_next")

    def __init__(self) -> None:
        self._current: Judgement | None = None
        self._next: Judgement | None = None
        self._newest: Judgement | None = None

    def offer(self, judgement: Judgement) -> None:
        """Takes a newer judgement."""
        if self._next is None:
            self._next = judgement
        else:
            self._newest = judgement

    def current(self, generation: int) -> Judgement | None:
        """The newest judgement known to be in use, where all workers serve `generation`; None if there is none."""
        if self._newest is not None and self._newest.generation <= generation:
            self._next = self._newest
        if self._next is not None and self._next.generation <= generation:
            self._current = self._next
            self._next = None if self._newest is self._current else self._newest
            self._newest = None
        return self._current

    def waits(self) -> bool:
        """Whether a newer judgement waits for workers."""
        return self._next is not None

    def are_served(self, generation: int) -> bool:
        """Whether none waits, where all workers serve `generation`."""
        self.current(generation)
        return not self.waits()
