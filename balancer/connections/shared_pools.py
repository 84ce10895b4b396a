"""Shares HTTP/2 connections to one endpoint among requests: which one has room, and when another is made.

A request takes the connection with the fewest streams. Requests that find no room wait for one new connection together,
and before the last room is taken the next connection is on its way. One that no request takes is kept if there is room
among idle connections. It must not know requests or retries.
"""

from __future__ import annotations

import asyncio

from balancer.connections.kept import KeptConnections
from balancer.http.streams import EndpointStream, Pool
from balancer.http2.endpoint import ENDPOINT_LIMITS, Http2EndpointConnection
from balancer.http2.engine import CLIENT
from balancer.http2.engines import make_engine
from balancer.model.handshakes import Handshake
from balancer.picking.members import Member
from balancer.runtime.waiting import Bounded

_AHEAD_SECONDS = 10.0  # time limit of a connection that no request waits for yet
# After one of these had no room, none is made ahead for so long: asking for it adds up the shares of all namespaces.
_NO_ROOM_SECONDS = 10.0
_FULL_SHARE = 0.75  # of the streams of a connection; with more in use, the next connection is made


class SharedPool(Pool):
    """The HTTP/2 connections to one member of a backend that share their TLS parameters; None is no TLS."""

    __slots__ = (
        "_ahead_from",
        "_closed",
        "_coming",
        "_connections",
        "_member",
        "_pools",
        "_ready",
        "_share",
        "_tls",
        "_waiting",
    )

    def __init__(self, member: Member, tls: Handshake | None, pools: KeptConnections) -> None:
        self._member = member
        self._tls = tls
        self._pools = pools
        shares = pools.idle
        self._share = shares.join(member.namespace, self)
        self._connections: list[Http2EndpointConnection] = []
        self._coming: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[None] | None = None
        self._waiting = 0  # requests that wait for a connection
        self._ahead_from = 0.0  # before this time of the loop none is made ahead
        self._closed = False
        self.awaited = set()

    def lease(self, fresh: bool) -> EndpointStream | None:
        """A stream on the connection with the fewest, None if no connection has room.

        `fresh` has no effect, because an endpoint that ends a connection says which requests it has not processed.
        """
        best: Http2EndpointConnection | None = None
        for connection in self._connections:
            if connection.takes_more() and (best is None or connection.streams < best.streams):
                best = connection
        if best is None:
            return None
        if best.is_idle:
            self._wake(best)
        stream, pools = best.lease(), self._pools
        settings = pools.settings.proxy
        if best.requests >= settings.endpoint_requests:
            best.leave()
        if (
            best.streams >= best.limit * _FULL_SHARE
            and best.limit > 1
            and self._coming is None
            and pools.now() >= self._ahead_from
        ):
            self._come(_AHEAD_SECONDS)
        return stream

    async def connect(self, timeout_seconds: float) -> EndpointStream:
        """A stream on a connection with room, which may have been made for another request.

        Raises as `Pool.connect` does. An endpoint that does not speak HTTP/2 is an OSError.
        """
        self._waiting += 1
        try:
            async with Bounded(timeout_seconds, self._pools.deadlines.absences):
                while (stream := self.lease(False)) is None:
                    await asyncio.shield(self._coming or self._come(timeout_seconds))
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._settle()
        return stream

    def close(self) -> None:
        """Ends connections as soon as they have no streams, because the endpoint left its backend."""
        self._closed = True
        shares = self._pools.idle
        shares.leave(self._share, self)
        for connection in tuple(self._connections):
            connection.end_soon()
        for each in tuple(self.awaited):
            each.endpoint_left()

    def drop_idle(self) -> None:
        for connection in tuple(self._connections):
            if connection.is_idle:
                self._wake(connection)
            connection.end_soon()

    def end_idle(self) -> bool:
        """Ends the connection that has been idle for longest (`idle_shares.IdlePool`)."""
        idle = [connection for connection in self._connections if connection.is_idle]
        if not idle:
            return False
        oldest = min(idle, key=lambda connection: connection.idle_since)
        self._wake(oldest)
        oldest.end_soon()
        return True

    def _settle(self) -> None:
        """No request waits: new connections that none has taken are idle from now on, if there is room for them."""
        for connection in tuple(self._connections):
            if not connection.is_idle:
                self.freed(connection)

    def _wake(self, connection: Http2EndpointConnection) -> None:
        """`connection` is idle no more."""
        connection.is_idle = False
        self._share.count -= 1

    # What connections call (`http2.endpoint.Sharer`).

    def ready(self, connection: Http2EndpointConnection) -> None:
        """The settings of the endpoint have arrived, so `connection` can be used."""
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(None)

    def freed(self, connection: Http2EndpointConnection) -> None:
        """A stream of `connection` has ended, or nobody takes its first one."""
        if connection.streams or connection.closed:
            return
        pools, share = self._pools, self._share
        settings, shares = pools.settings.proxy, pools.idle
        is_full = share.count >= share.granted
        if (
            connection.ending
            or self._closed
            or (is_full and not shares.grants(share, settings.endpoint_idle_connections))
        ):
            connection.end_soon()
            return
        connection.is_idle = True
        pools.note_idle(connection, share, settings.endpoint_idle_seconds)

    def lost(self, connection: Http2EndpointConnection) -> None:
        """Forgets `connection`, which has closed."""
        if connection.is_idle:
            self._wake(connection)
        if connection in self._connections:
            self._connections.remove(connection)
        elif self._ready is not None and not self._ready.done():
            self._ready.set_exception(ConnectionResetError("the endpoint does not speak HTTP/2"))
        pools = self._pools
        pools.lost(connection, self._member.namespace)

    # Making connections.

    def _come(self, timeout_seconds: float) -> asyncio.Task[None]:
        """Begins to make a connection."""
        task = asyncio.get_running_loop().create_task(self._make(timeout_seconds))
        self._coming = task
        self._pools.coming.add(task)
        task.add_done_callback(self._came)
        return task

    def _came(self, task: asyncio.Task[None]) -> None:
        self._pools.coming.discard(task)
        if not task.cancelled():
            task.exception()  # waiting requests get the error; without any, it counts as seen

    async def _make(self, timeout_seconds: float) -> None:
        connection: Http2EndpointConnection | None = None
        try:
            async with Bounded(timeout_seconds, self._pools.deadlines.absences):
                self._ready = asyncio.get_running_loop().create_future()
                connection = await self._connected()
                await self._ready
        except BaseException:
            if connection is not None:
                connection.abort()
            raise
        finally:
            # Not in a callback of the task: until that runs, `connect` would find a task that is done, for ever.
            self._ready = None
            self._coming = None
        if connection.closed or connection.ending or not connection.limit:
            connection.end()
            raise ConnectionRefusedError("the endpoint takes no streams")
        self._connections.append(connection)
        if not self._waiting:
            self.freed(connection)
            if not connection.is_idle:
                pools = self._pools
                self._ahead_from = pools.now() + _NO_ROOM_SECONDS

    async def _connected(self) -> Http2EndpointConnection:
        tls, pools = self._tls, self._pools
        library = pools.settings.proxy.http2.engine.value
        return await pools.dialled(
            self._member,
            lambda: Http2EndpointConnection(
                self, make_engine(CLIENT, ENDPOINT_LIMITS, library), pools.flusher, pools.deadlines, tls is not None
            ),
            tls,
            self._share,
            http2=True,
        )
