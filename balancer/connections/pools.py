"""Finds the pool of a member of a backend: one for each way of TLS and version of HTTP.

A connection that was verified in one way is never used for requests that ask for another way. The pools belong to the
member, so they end when the endpoint leaves its backend. Two backends never share a pool, even if an address moves from
one to the other. It must not know requests or retries.
"""

from __future__ import annotations

from collections.abc import Iterable

from balancer.connections.kept import KeptConnections
from balancer.connections.shared_pools import SharedPool
from balancer.connections.single_pools import ConnectionPool
from balancer.http.streams import Pool
from balancer.model.handshakes import Handshake
from balancer.picking.members import Member


class _MemberPools:
    """The pools of a member: one for each way to speak to it."""

    __slots__ = ("by_tls", "closed", "shared_by_tls")

    def __init__(self) -> None:
        self.by_tls: dict[Handshake | None, ConnectionPool] = {}
        self.shared_by_tls: dict[Handshake | None, SharedPool] = {}
        self.closed = False


class ConnectionPools(KeptConnections):
    """All pools of one worker, and the connections in them."""

    __slots__ = ()

    def of(self, member: Member, tls: Handshake | None, http2: bool) -> Pool:
        """The pool of `member` for `tls` and a version of HTTP, made on first use."""
        if http2:
            return self.shared(member, tls)
        pools = member.pool if isinstance(member.pool, _MemberPools) else _pools_of(member)
        return pools.by_tls.get(tls) or self._made(pools, member, tls)

    def single(self, member: Member, tls: Handshake | None = None) -> ConnectionPool:
        """The pool of HTTP/1.1 connections."""
        pools = member.pool if isinstance(member.pool, _MemberPools) else _pools_of(member)
        return pools.by_tls.get(tls) or self._made(pools, member, tls)

    def _made(self, pools: _MemberPools, member: Member, tls: Handshake | None) -> ConnectionPool:
        pool = pools.by_tls[tls] = ConnectionPool(member, tls, self)
        if pools.closed:
            pool.close()
        return pool

    def shared(self, member: Member, tls: Handshake | None = None) -> SharedPool:
        """The pool of HTTP/2 connections."""
        pools = member.pool if isinstance(member.pool, _MemberPools) else _pools_of(member)
        pool = pools.shared_by_tls.get(tls)
        if pool is None:
            pool = pools.shared_by_tls[tls] = SharedPool(member, tls, self)
            if pools.closed:
                pool.close()
        return pool

    def close(self, members: Iterable[Member]) -> None:
        """Closes the pools of members that left their backends."""
        for member in members:
            pools = _pools_of(member)
            pools.closed = True  # also without pools: a request with an older view may still pick the member
            for pool in pools.by_tls.values():
                pool.close()
            for shared in pools.shared_by_tls.values():
                shared.close()


def _pools_of(member: Member) -> _MemberPools:
    pools = member.pool
    if pools is None:
        pools = _MemberPools()
        member.pool = pools
    assert isinstance(pools, _MemberPools)
    return pools
