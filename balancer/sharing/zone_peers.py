"""What the workers of one replica tell each other about a zone of a backend whose answers fail: evidence and a state.

Each worker sees only its part of the answers. Whoever had none starts from what the others know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

PLACES: Final = 16
"""Clients are told apart by so many places, to which they are hashed."""

STATE_WORDS: Final = 18
"""The words of a state: first when the zone was left further or less far, then what follows from that."""


class ZoneSeen(NamedTuple):
    """Answers of a zone, and failures among them, by the place of the client. `seconds`: those of good answers."""

    answers: tuple[float, ...] = (0.0,) * PLACES
    failed: tuple[float, ...] = (0.0,) * PLACES
    seconds: float = 0.0


class ZonePeers(Protocol):
    """The other workers that see this zone of this backend."""

    def exchange(self, seen: ZoneSeen, now: float) -> ZoneSeen:
        """Tells what this worker saw since the last call; returns what the others did.

        `now` is in seconds on a clock that all workers share.
        """

    def tell(self, state: tuple[float, ...], now: float) -> None:
        """Tells the present state, of `STATE_WORDS` words."""

    def newest(self, now: float) -> tuple[float, ...] | None:
        """The newest state of the others, of those who told something lately; None if nobody did."""


class _NobodyElse:
    __slots__ = ()

    def exchange(self, seen: ZoneSeen, now: float) -> ZoneSeen:
        return _NOTHING

    def tell(self, state: tuple[float, ...], now: float) -> None:
        """Nobody hears it."""

    def newest(self, now: float) -> tuple[float, ...] | None:
        return None


_NOTHING: Final = ZoneSeen()
_NOBODY_ELSE: Final[ZonePeers] = _NobodyElse()

ZonePeersOf = Callable[[str], ZonePeers]
"""The others that see the backend and zone with this key."""


def zone_key(backend: str, zone: str) -> str:
    """The key of those who judge a zone of a backend."""
    return f"{backend} {zone}"


def nobody_else(_: str) -> ZonePeers:
    """A `ZonePeersOf` without others."""
    return _NOBODY_ELSE
