"""How long everybody waits for what one place does not give: once, and not again for each change.

A place is a kind in a namespace, because that is what RBAC, size or a fault keeps from us. Responsible for telling what
is late from what is under way, so that no namespace holds up the others for ever. Times are seconds of a monotonic
clock that come in as arguments. It must not know what is waited for, nor who waits.
"""

from __future__ import annotations

from collections.abc import Collection

from ingress.objects import Kind

GIVEN_UP_SECONDS = 10.0
"""Several tries of a reflector, and as long as a first publication waits."""

Place = tuple[Kind, str]
"""A kind and its namespace; empty for all of them."""


class Patience:
    """Since when each place owes something."""

    __slots__ = ("_since",)

    def __init__(self) -> None:
        self._since: dict[Place, float] = {}

    def ends(self, owing: Collection[Place], *, followed: Collection[Place], now: float) -> bool:
        """Whether nothing more is worth waiting for at `now`: every place that owes has been late for long.

        A place that is not followed any more keeps its time: leaving it and coming back is no new patience.
        """
        kept = {place: at for place, at in self._since.items() if place in owing or place not in followed}
        self._since = {**dict.fromkeys(owing, now), **kept}
        return all(now - self._since[place] >= GIVEN_UP_SECONDS for place in owing)
