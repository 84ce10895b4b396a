"""What the controllers of one backend and zone tell each other: those of all workers of one replica.

Each worker sees only its part of the requests. A controller passes on what it saw and gets what the others saw.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from balancer.sharing.zone_peers import PLACES, ZonePeersOf, nobody_else


class Seen(NamedTuple):
    """What came since the last exchange: requests picked, requests of the own zone that ended, and answers.

    `local` and `away` are answers of the own zone and of other zones; `local_seconds` and `away_seconds` the sums of
    their latencies.
    """

    picks: float = 0.0
    done: float = 0.0
    local: float = 0.0
    local_seconds: float = 0.0
    away: float = 0.0
    away_seconds: float = 0.0


class Heard(NamedTuple):
    """What the others saw. `share` and `baseline` are the means of those that know the zone; None: nobody does."""

    seen: Seen = Seen()
    share: float | None = None
    baseline: float = 0.0


class Peers(Protocol):
    """The other controllers of one backend and zone."""

    def exchange(self, seen: Seen, *, share: float, baseline: float, now: float) -> Heard:
        """Tells what this controller saw and holds; returns what the others did since the last call.

        `baseline` 0: this controller does not know the zone yet. `now` is on the clock of picks.
        """


class _Alone:
    __slots__ = ()

    def exchange(self, seen: Seen, *, share: float, baseline: float, now: float) -> Heard:
        return _NOTHING


_NOTHING = Heard()
ALONE: Peers = _Alone()
"""There are no others."""

PeersOf = Callable[[str], Peers]
"""The peers of the controller with this key. Controllers with equal keys are peers."""


def alone(_: str) -> Peers:
    """A `PeersOf` without others."""
    return ALONE


def load_key(backend: str, zone: str | None, policy: object) -> str:
    """The key of controllers of a backend under a policy, in replicas of one zone."""
    return f"{backend} {zone} {policy!r}"


def _own_place(client: bytes) -> int:
    return hash(client) % PLACES


class Others(NamedTuple):
    """The other processes of this replica: peers of controllers, and of those who judge zones.

    `place_of` says where a client, by its name in bytes, is counted, one of `PLACES`: the same in all processes, and
    nobody outside can choose it.
    """

    peers_of: PeersOf = alone
    zone_peers_of: ZonePeersOf = nobody_else
    place_of: Callable[[bytes], int] = _own_place


NO_OTHERS: Final = Others()
"""There are no others."""
