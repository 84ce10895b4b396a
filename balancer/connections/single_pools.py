"""Keeps idle HTTP/1.1 connections to one endpoint, last in, first out. It must not know requests or retries."""

from __future__ import annotations

from balancer.connections.idle_shares import IdleShare
from balancer.connections.kept import KeptConnections
from balancer.http1.endpoint import EndpointConnection, Keeper
from balancer.model.handshakes import Handshake
from balancer.picking.members import Member
from balancer.runtime.waiting import Bounded

FRESH_IDLE_SECONDS = 0.5
"""An endpoint rarely closes a connection that was idle for less."""


class ConnectionPool(Keeper):
    """The HTTP/1.1 connections to one member of a backend that share their TLS parameters; None is no TLS."""

    __slots__ = ("_closed", "_idle", "_member", "_pools", "_share", "_tls")

    def __init__(self, member: Member, tls: Handshake | None, pools: KeptConnections) -> None:
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
        pools, idle = self._pools, self._idle
        while idle:
            connection = idle[-1]
            if connection.closed or not connection.reusable:
                self._forget(connection)
                continue
            if fresh and (pools.now() - connection.idle_since > FRESH_IDLE_SECONDS or connection.is_failing()):
                return None
            idle.pop()
            self._share.count -= 1
            connection.reused = True
            return connection
        return None

    async def connect(self, timeout_seconds: float) -> EndpointConnection:
        pools = self._pools
        async with Bounded(timeout_seconds, pools.deadlines.absences):
            return await pools.dialled(self._member, lambda: EndpointConnection(self), self._tls, self._share)

    def give_back(self, connection: EndpointConnection) -> None:
        """Keeps a connection for another request, or closes it (`http1.endpoint.Keeper`)."""
        pools, share = self._pools, self._share
        settings, count = pools.settings.proxy, share.count + 1
        if (
            not connection.reusable
            or self._closed
            or connection.requests >= settings.endpoint_requests
            or (count > share.granted and not self._may_grow(settings.endpoint_idle_connections))
        ):
            connection.reset()
            return
        self._idle.append(connection)
        share.count = count
        now = pools.now()
        connection.idle_since = now
        connection.deadline = now + settings.endpoint_idle_seconds
        if connection.deadline < connection.next_look:
            deadlines = pools.deadlines
            deadlines.insert(connection)

    def _may_grow(self, most: int) -> bool:
        """Whether the namespace may keep more idle connections than ever, of `most` in all."""
        shares = self._pools.idle
        return shares.grants(self._share, most)

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
            self._share.count -= 1
