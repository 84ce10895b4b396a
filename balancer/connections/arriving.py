"""The connections of a worker that were not handed over yet: who has each of them, and which bound it counts for.

No I/O, no clock. Does not know what a connection waits for.
"""

from __future__ import annotations

from collections.abc import Callable

from balancer.connections.arrivals import Arriving
from balancer.connections.handshaking import UnfinishedHandshakes
from balancer.connections.places import ClientPlaces


class ArrivingConnections:
    """Every such connection has a place, as those have that were handed over.

    `note` counts each connection that has to end for a new one.
    """

    __slots__ = ("_note", "_places", "members")

    def __init__(self, places: ClientPlaces, note: Callable[[str], None]) -> None:
        self._places = places
        self.members: set[Arriving] = set()
        self._note = note

    def enter(
        self, member: Arriving, client: bytes, bound: UnfinishedHandshakes | None = None, chain_bytes: int = 0
    ) -> None:
        """`member` has a connection of a client (`peer_key`). It counts for `bound`, with a chain of this size as PEM.

        Others may end for it, or itself.
        """
        places = self._places
        self.members.add(member)
        places.enter(member, client)
        if bound is not None:
            for each in bound.begin(member, client, chain_bytes):
                self._note("handshake_limit")
                each.cancel()

    def leave(self, member: Arriving, bound: UnfinishedHandshakes | None = None) -> None:
        """`member` has its connection no more, and counts for `bound` no more."""
        places = self._places
        self.members.discard(member)
        places.leave(member)
        if bound is not None:
            bound.over(member)

    def end(self) -> None:
        """Ends all of them."""
        for member in self.members:
            member.cancel()
