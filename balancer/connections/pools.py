"""Keeps idle connections in pools, last in, first out: a pool for each member of a backend, TLS and version of HTTP.

A connection that was verified in one way is never used for requests that ask for another way. The pools belong to the
member, so they end when the endpoint leaves its backend. Two backends never share a pool, even if an address moves from
one to the other. It must not know requests or retries.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from balancer.connections.dialing import dial
from balancer.connections.idle_shares import IdleShare, IdleShares
from balancer.connections.shared_pools import SharedPool
from balancer.connections.tls import check_chain, endpoint_context, endpoint_name
from balancer.errors import NoPlaceError
from balancer.http.current import CurrentSettings
from balancer.http.streams import Pool
from balancer.http1.endpoint import EndpointConnection, Keeper
from balancer.http2.endpoint import Http2EndpointConnection
from balancer.http2.flushing import Flusher
from balancer.http2.unread import Unread
from balancer.model.handshakes import Handshake
from balancer.picking.members import Member
from balancer.runtime.deadlines import Deadlines, Watched
from balancer.runtime.reading import ReadsPieces
from balancer.runtime.shares import FairShares
from balancer.runtime.tcp import TcpTransport, TcpTransports

FRESH_IDLE_SECONDS = 0.5
"""An endpoint rarely closes a connection that was idle for less."""


class KeptConnection(Watched, Protocol):
    """A connection to an endpoint, of any version. `idle_since` is a time of the loop."""

    idle_since: float

    @property
    def writing_paused(self) -> bool:
        """The endpoint does not read what was written."""

    def abort(self) -> None:
        """Cuts the connection."""


_Kept = TypeVar("_Kept", EndpointConnection, Http2EndpointConnection)


class ConnectionPool(Keeper):
    """The HTTP/1.1 connections to one member of a backend that share their TLS parameters; None is no TLS."""

    __slots__ = ("_closed", "_idle", "_member", "_pools", "_share", "_tls")

    def __init__(self, member: Member, tls: Handshake | None, pools: ConnectionPools) -> None:
        self._member = member
        self._tls = tls
        self._pools = pools
        shares = pools.idle
        self._share: IdleShare = shares.join(member.namespace, self)
        self._idle: list[EndpointConnection] = []
        self._closed = False
        self.awaited = set()

    def lease(self, fresh: bool) -> EndpointConnection | None:
        """The connection that became idle last, or None. `fresh`: only if less than `FRESH_IDLE_SECONDS` ago."""
        pools = self._pools
        while self._idle:
            connection = self._idle[-1]
            if connection.closed or not connection.reusable:
                self._forget(connection)
                continue
            if fresh and pools.now() - connection.idle_since > FRESH_IDLE_SECONDS:
                return None
            self._idle.pop()
            pools.idle_count -= 1
            self._share.count -= 1
            connection.reused = True
            return connection
        return None

    async def connect(self, timeout_seconds: float) -> EndpointConnection:
        tls = self._tls
        async with asyncio.timeout(timeout_seconds):
            transport, connection = await self._pools.dialled(
                self._member, lambda: EndpointConnection(self), tls, self._share
            )
        if tls is not None:
            try:
                check_chain(tls, transport.get_extra_info("ssl_object"))
            except ssl.SSLError:
                transport.abort()
                raise
        return connection

    def give_back(self, connection: EndpointConnection) -> None:
        """Keeps a connection for another request, or closes it (`http1.endpoint.Keeper`)."""
        pools = self._pools
        settings, shares = pools.settings.proxy, pools.idle
        if (
            not connection.reusable
            or self._closed
            or connection.requests >= settings.endpoint_requests
            or (pools.idle_count >= settings.endpoint_idle_connections and not shares.makes_room(self._share))
        ):
            connection.reset()
            return
        self._idle.append(connection)
        pools.idle_count += 1
        shares.add(self._share)
        connection.idle_since = now = pools.now()
        connection.deadline = now + settings.endpoint_idle_seconds
        if connection.deadline < connection.next_look:
            deadlines = pools.deadlines
            deadlines.insert(connection)

    def close(self) -> None:
        """Closes idle connections now, and others when they are given back, because the endpoint left its backend."""
        self._closed = True
        shares = self._pools.idle
        shares.leave(self._share, self)
        self.drop_idle()
        for each in tuple(self.awaited):
            each.endpoint_left()

    def drop_idle(self) -> None:
        for connection in tuple(self._idle):
            connection.reset()

    def end_idle(self) -> bool:
        """Closes the connection that has been idle for longest (`idle_shares.IdlePool`)."""
        if not self._idle:
            return False
        connection = self._idle[0]
        self._forget(connection)
        connection.reset()
        return True

    def lost(self, connection: EndpointConnection) -> None:
        """Forgets `connection`, which has closed (`http1.endpoint.Keeper`)."""
        pools = self._pools
        pools.lost(connection, self._member.namespace)
        self._forget(connection)

    def _forget(self, connection: EndpointConnection) -> None:
        if connection in self._idle:
            self._idle.remove(connection)
            self._pools.idle_count -= 1
            self._share.count -= 1


class _Deaf(ReadsPieces):
    """A connection that is closed as soon as it is made."""

    def data_received(self, data: bytes) -> None: ...


class _MemberPools:
    """The pools of a member: one for each way to speak to it."""

    __slots__ = ("by_tls", "closed", "shared_by_tls")

    def __init__(self) -> None:
        self.by_tls: dict[Handshake | None, ConnectionPool] = {}
        self.shared_by_tls: dict[Handshake | None, SharedPool] = {}
        self.closed = False


class ConnectionPools:
    """All pools of one worker, and what they share. `settings` are read again each time.

    `coming` are tasks that make connections. `transports` carry connections without TLS; None: the loop does. Of
    `places` connections each namespace gets its share.
    """

    __slots__ = (
        "_loop",
        "coming",
        "deadlines",
        "flusher",
        "idle",
        "idle_count",
        "open",
        "places",
        "settings",
        "transports",
    )

    def __init__(
        self,
        *,
        deadlines: Deadlines,
        settings: CurrentSettings,
        transports: TcpTransports | None = None,
        places: int = sys.maxsize,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.deadlines = deadlines
        self.flusher = Flusher(self._loop, Unread(settings))
        self.settings, self.transports = settings, transports
        self.idle_count, self.idle = 0, IdleShares()
        self.open: set[KeptConnection] = set()
        self.places = FairShares(places)
        self.coming: set[asyncio.Task[None]] = set()

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

    async def dialled(
        self, member: Member, make: Callable[[], _Kept], tls: Handshake | None, share: IdleShare, *, http2: bool = False
    ) -> tuple[asyncio.Transport | TcpTransport, _Kept]:
        """Connects to `member`, in place of an idle connection of `share` if its namespace has no more places.

        Raises NoPlaceError, or as `dial` does.
        """
        endpoint, places = member.endpoint, self.places
        while not places.take(share.namespace):
            if not share.end_one():
                raise NoPlaceError(f"{share.namespace} has all connections that it may have")
            await asyncio.sleep(0)  # then it has ended
        try:
            transport, connection = await dial(
                self.transports,
                make,
                endpoint.address,
                endpoint.port,
                context=endpoint_context(tls, http2=http2) if tls else None,
                server_name=endpoint_name(tls, endpoint.address) if tls else None,
            )
        except BaseException:
            places.give_back(share.namespace)
            raise
        if connection.closed:
            places.give_back(share.namespace)
        else:
            self.open.add(connection)
        return transport, connection

    async def knock(self, member: Member, timeout_seconds: float) -> None:
        """Makes a connection to `member` without TLS and closes it. Raises OSError or TimeoutError."""
        endpoint = member.endpoint
        async with asyncio.timeout(timeout_seconds):
            transport, _ = await dial(
                self.transports, _Deaf, endpoint.address, endpoint.port, context=None, server_name=None
            )
        transport.abort()

    def close(self, members: Iterable[Member]) -> None:
        """Closes the pools of members that left their backends."""
        for member in members:
            pools = _pools_of(member)
            pools.closed = True  # also without pools: a request with an older view may still pick the member
            for pool in pools.by_tls.values():
                pool.close()
            for shared in pools.shared_by_tls.values():
                shared.close()

    def close_all(self) -> None:
        """Cuts every connection, idle or in use. No further ones are made."""
        for task in tuple(self.coming):
            task.cancel()
        for connection in tuple(self.open):
            connection.abort()

    def lost(self, connection: KeptConnection, namespace: str) -> None:
        """Forgets a connection that has ended."""
        if connection in self.open:
            self.open.remove(connection)
            self.places.give_back(namespace)
        deadlines = self.deadlines
        deadlines.forget(connection)

    def now(self) -> float:
        return self._loop.time()

    def note_idle(self, connection: KeptConnection, share: IdleShare, seconds: float) -> None:
        """Notes that a shared `connection` is idle from now on. It is closed after `seconds`."""
        self.idle_count += 1
        shares = self.idle
        shares.add(share)
        connection.idle_since = now = self._loop.time()
        connection.deadline = now + seconds
        if connection.deadline < connection.next_look:
            deadlines = self.deadlines
            deadlines.insert(connection)


def _pools_of(member: Member) -> _MemberPools:
    pools = member.pool
    if pools is None:
        pools = member.pool = _MemberPools()
    assert isinstance(pools, _MemberPools)
    return pools
