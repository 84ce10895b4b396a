"""The connections of a worker until they are handed over: whether there is a place for them, who has each of them, and
which bound it counts for.

No I/O, no clock. Does not know what a connection waits for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from balancer.connections.arrivals import Arriving, cut, is_idle
from balancer.connections.handshaking import UnfinishedHandshakes
from balancer.connections.places import ClientPlaces
from balancer.http.streams import Connection


class ArrivingConnections:
    """Every such connection has a place, as those have that were handed over.

    `note` counts connections that have to end for others, or could not be taken in. A client is its `peer_key`.
    """

    __slots__ = ("_note", "_places", "members")

    def __init__(self, places: ClientPlaces, note: Callable[[str], None]) -> None:
        self._places = places
        self.members: set[Arriving] = set()
        self._note = note

    def is_full(self, most: int) -> bool:
        """Whether `most` connections are open, or more."""
        return len(self._places) >= most

    def makes_room(self, client: bytes, now: float) -> bool:
        """Ends a connection for a new one of `client`, unless the new one has to end for others. `now`: the loop's."""
        places = self._places
        self._note("connection_limit")
        gone = places.displaced_by(client, partial(is_idle, now=now))
        if gone is not None:
            cut(gone)
        return gone is not None

    def moves(self, member: Arriving, client: bytes, most: int, now: float) -> bool:
        """Gives `member` a place of `client`, who is another one than was known, and returns whether there is one.

        The place of the client that was known is free in any case.
        """
        places = self._places
        places.leave(member)
        if self.is_full(most) and not self.makes_room(client, now):
            return False
        places.enter(member, client)
        return True

    def enter(
        self, member: Arriving, client: bytes, bound: UnfinishedHandshakes | None = None, chain_bytes: int = 0
    ) -> None:
        """`member` has a connection of a client. It counts for `bound`, with a chain of this size as PEM.

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

    def hand_over(self, connection: Connection, client: bytes) -> None:
        """The place belongs to `connection` from now on. Whoever gets it says when it ends."""
        places = self._places
        places.enter(connection, client)

    def end(self) -> None:
        """Ends all of them."""
        for member in self.members:
            member.cancel()
