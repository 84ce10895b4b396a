"""Says how much less needs to leave a zone once more endpoints are in it. Time is an argument, in seconds."""

from __future__ import annotations

# An endpoint that has come is believed after so long. Then the share falls by what it can carry.
_ARRIVAL_SECONDS = 2.0


class Homecoming:
    """The endpoints of one zone, and the share that is enough for it once those that have come carry their part."""

    __slots__ = ("_at", "_enough", "endpoints")

    def __init__(self) -> None:
        self.endpoints = 0
        self._enough = 1.0
        self._at: float | None = None

    def follow(self, endpoints: int, *, share: float) -> None:
        """The zone has so many endpoints from now on, at least one, while `share` leaves it."""
        grows = endpoints > self.endpoints > 0
        self._at = None
        self._enough = max(0.0, 1.0 - (1.0 - share) * endpoints / self.endpoints) if grows else 1.0
        self.endpoints = endpoints

    def share_after(self, share: float, now: float) -> float:
        """The share after endpoints came home: once they have been there for a while, they carry as much as others."""
        if self._enough >= share:
            return share
        if self._at is None:
            self._at = now + _ARRIVAL_SECONDS
        if now < self._at:
            return share
        share = self._enough
        self._enough = 1.0
        return share
