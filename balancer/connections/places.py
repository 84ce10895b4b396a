"""Divides a worker's places for connections among the clients, from the first byte on. No I/O, no clock.

Whether a connection waits for its ClientHello, shakes hands or asks for something does not matter: it has a descriptor.
Until all places are taken, everybody gets one. Then a newcomer takes a place of the client that has most.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import islice
from typing import Any

_LOOKED_AT = 32  # of the connections of one client, for an idle one; a newcomer must not cost a walk through thousands


class ClientPlaces:
    """Which client has which connections. Every call takes about the same time, however many there are.

    A member is whatever stands for a connection.
    """

    __slots__ = ("_by_count", "_client_of", "_members", "_most_held")

    def __init__(self) -> None:
        self._client_of: dict[Hashable, Hashable] = {}
        self._members: dict[Hashable, dict[Hashable, None]] = {}
        self._by_count: dict[int, dict[Hashable, None]] = {}  # clients by the number of their connections
        self._most_held = 0

    def __len__(self) -> int:
        return len(self._client_of)

    def enter(self, member: Hashable, client: Hashable) -> None:
        """`member` is a connection of `client` from now on."""
        self.leave(member)
        self._client_of[member] = client
        members = self._members.get(client)
        if members is None:
            members = self._members[client] = {}
        members[member] = None
        count = len(members)
        self._count(client, count - 1, count)
        self._most_held = max(self._most_held, count)

    def leave(self, member: Hashable) -> None:
        """The connection has ended, or another member stands for it. May be called for one that has left already."""
        client = self._client_of.pop(member, None)
        if client is None:
            return
        members = self._members[client]
        del members[member]
        left = len(members)
        if not left:
            del self._members[client]
        self._count(client, left + 1, left)
        if self._most_held not in self._by_count:
            self._most_held = left

    def displaced_by(self, client: Hashable, is_idle: Callable[[Any], bool]) -> Any:
        """The connection that has to end for a new one of `client`, and has left already. None: the new one has to.

        It belongs to the client that has most, which has more than `client` will have. It is idle, or the oldest one if
        no idle one is near and that client has at least twice as many.
        """
        will_have = len(self._members.get(client, ())) + 1
        if self._most_held <= will_have:
            return None
        members = self._members[next(iter(self._by_count[self._most_held]))]
        looked_at = tuple(islice(members, _LOOKED_AT))
        found = next((each for each in looked_at if is_idle(each)), None)
        if found is None and self._most_held >= 2 * will_have:
            found = looked_at[0]
        if found is None:
            for each in looked_at:  # so that the next newcomer looks at others
                del members[each]
                members[each] = None
            return None
        self.leave(found)
        return found

    def _count(self, client: Hashable, before: int, now: int) -> None:
        by_count = self._by_count
        if before:
            clients = by_count[before]
            if len(clients) > 1:
                del clients[client]
            else:
                del by_count[before]
                if now and now not in by_count:  # as nearly always, and then no connection makes a dict of its own
                    by_count[now] = clients
                    return
        if now:
            by_count.setdefault(now, {})[client] = None
