"""Divides the idle connections to endpoints that a worker keeps among namespaces. No I/O, no clock.

While there is room everybody keeps what it has. Then whoever gives a connection back keeps it in place of one of the
namespace that keeps most, unless that has no more. Places are granted for good and taken back when they are needed, so
a request that takes a connection and gives it back changes one number.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol


class IdlePool(Protocol):
    """The connections to one endpoint, as far as they are idle."""

    def end_idle(self) -> bool:
        """Ends the connection that has been idle for longest. False: none is idle."""


class IdleShare:
    """The idle connections of one namespace: how many there are, and in which pools.

    `empty` are pools that had none when they were asked last: of thousands, few are asked for each connection.
    `granted` are the places for them, and some may be free: as many as were in use at one time. Who has one more idle
    connection than that asks `IdleShares.grants` first.
    """

    __slots__ = ("count", "empty", "granted", "namespace", "pools")

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.count = 0
        self.granted = 0
        self.pools: OrderedDict[IdlePool, None] = OrderedDict()  # whose first entry is cheap to remove
        self.empty: OrderedDict[IdlePool, None] = OrderedDict()

    def end_one(self) -> bool:
        """Ends one of the connections; pools take turns. False: none is idle."""
        for _ in range(2 if self.count else 0):
            while self.pools:
                pool, _ = self.pools.popitem(last=False)
                if pool.end_idle():
                    self.pools[pool] = None
                    return True
                self.empty[pool] = None
            asked_before = self.empty
            self.empty = self.pools  # of which none is left
            self.pools = asked_before
        return False


class IdleShares:
    """The shares of all namespaces."""

    __slots__ = ("_granted", "_shares")

    def __init__(self) -> None:
        self._shares: dict[str, IdleShare] = {}
        self._granted = 0

    def count(self) -> int:
        """How many connections are idle."""
        return sum(share.count for share in self._shares.values())

    def join(self, namespace: str, pool: IdlePool) -> IdleShare:
        """The share for `pool`, which may have idle connections from now on."""
        share = self._shares.get(namespace)
        if share is None:
            share = self._shares[namespace] = IdleShare(namespace)
        share.pools[pool] = None
        return share

    def leave(self, share: IdleShare, pool: IdlePool) -> None:
        """`pool` has ended its idle connections and keeps no more of them."""
        share.pools.pop(pool, None)
        share.empty.pop(pool, None)
        if not share.pools and not share.empty and self._shares.get(share.namespace) is share:
            del self._shares[share.namespace]
            self._granted -= share.granted

    def grants(self, share: IdleShare, most: int) -> bool:
        """Whether `share` gets one more place of the `most` that there are.

        If all are taken, a connection of the share with most is ended for it.
        """
        if self._granted >= most:
            self._take_back()
        if self._granted >= most:
            largest = self._largest()
            if largest.count <= share.count + 1 or not largest.end_one():
                return False
            self._take_back()
        share.granted += 1
        self._granted += 1
        return True

    def limit_to(self, most: int) -> None:
        """There are `most` places from now on. Connections that have none are ended."""
        self._take_back()
        while self._granted > most and self._largest().end_one():
            self._take_back()

    def _take_back(self) -> None:
        """Takes back the places of connections that are in use, or have ended."""
        total = 0
        for share in self._shares.values():
            share.granted = share.count
            total += share.count
        self._granted = total

    def _largest(self) -> IdleShare:
        return max(self._shares.values(), key=_count_of)


def _count_of(share: IdleShare) -> int:
    return share.count
