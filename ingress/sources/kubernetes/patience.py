"""Decides how long to wait for a place that does not deliver its objects: once, not again for each change.

A place is a kind in a namespace, because RBAC, size and faults affect such places. No namespace holds up the others for
ever. Times are arguments, in seconds of a monotonic clock. Does not know what happens after the wait, nor who waits.
"""

from __future__ import annotations

from collections.abc import Collection

from ingress.objects.kinds import Kind

GIVEN_UP_SECONDS = 10.0
"""Time for several attempts of a reflector, and as long as the first publication waits."""

Place = tuple[Kind, str]
"""A kind and its namespace; an empty namespace means all."""


class Patience:
    """Remembers since when each place owes objects."""

    __slots__ = ("_since",)

    def __init__(self) -> None:
        self._since: dict[Place, float] = {}

    def ends(self, owing: Collection[Place], *, followed: Collection[Place], now: float) -> bool:
        """Whether nothing is worth waiting for at `now`, because every owing place has been late for too long.

        A place that is no longer followed keeps its time, so leaving it and coming back does not start a new wait.
        """
        kept = {place: at for place, at in self._since.items() if place in owing or place not in followed}
        self._since = {**dict.fromkeys(owing, now), **kept}
        return all(now - self._since[place] >= GIVEN_UP_SECONDS for place in owing)
