"""Divides the idle connections to endpoints that a worker keeps among namespaces. No I/O, no clock.

While there is room everybody keeps what it has. Then whoever gives a connection back keeps it in place of one of the
namespace that keeps most, unless that has no more. Counting costs a request an addition or two.
"""

from __future__ import annotations

from typing import Protocol


class IdlePool(Protocol):
    """The connections to one endpoint, as far as they are idle."""

    def end_idle(self) -> bool:
        """Ends the connection that has been idle for longest. False: none is idle."""


class IdleShare:
    """The idle connections of one namespace: how many there are, and in which pools."""

    __slots__ = ("count", "namespace", "pools")

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.count = 0
        self.pools: dict[IdlePool, None] = {}

    def end_one(self) -> bool:
        """Ends one of the connections; pools take turns. False: none is idle."""
        pools = self.pools
        for _ in range(len(pools)):
            pool = next(iter(pools))
            del pools[pool]
            pools[pool] = None
            if pool.end_idle():
                return True
        return False


class IdleShares:
    """The shares of all namespaces. No share has more than `peak` connections."""

    __slots__ = ("_shares", "peak")

    def __init__(self) -> None:
        self._shares: dict[str, IdleShare] = {}
        self.peak = 0

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
        if not share.pools and self._shares.get(share.namespace) is share:
            del self._shares[share.namespace]

    def add(self, share: IdleShare) -> None:
        """A connection of `share` has become idle."""
        count = share.count + 1
        share.count = count
        if count > self.peak:  # noqa: PLR1730 -- `max` costs as much as the rest
            self.peak = count

    def makes_room(self, share: IdleShare) -> bool:
        """Whether there is room for one more of `share`: a connection of the share with most was ended for it."""
        count = share.count
        if self.peak <= count + 1:
            return False
        largest = share
        for each in self._shares.values():
            if each.count > largest.count:
                largest = each
        self.peak = largest.count
        return largest.count > count + 1 and largest.end_one()
