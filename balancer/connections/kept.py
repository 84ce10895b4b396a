"""The connections to endpoints that a worker keeps: which are open, how many are idle, and what they share.

It must not know pools, requests or retries.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from balancer.connections.idle_shares import IdleShare, IdleShares
from balancer.http.current import CurrentSettings
from balancer.http2.flushing import Flusher
from balancer.http2.unread import Unread
from balancer.runtime.deadlines import Deadlines, Watched
from balancer.runtime.tcp import TcpTransports


class KeptConnection(Watched, Protocol):
    """A connection to an endpoint, of any version. `idle_since` is a time of the loop."""

    idle_since: float

    def abort(self) -> None:
        """Cuts the connection."""


class KeptConnections:
    """All connections of one worker to endpoints. `settings` are read again each time.

    `open` has every connection, and `idle_count` of them are idle, by the shares of `idle`. `coming` are tasks that
    make connections. `transports` carry connections without TLS.
    """

    __slots__ = ("_loop", "coming", "deadlines", "flusher", "idle", "idle_count", "open", "settings", "transports")

    def __init__(self, *, deadlines: Deadlines, settings: CurrentSettings, transports: TcpTransports) -> None:
        self._loop = asyncio.get_running_loop()
        self.deadlines = deadlines
        self.flusher = Flusher(self._loop, Unread(settings))
        self.settings = settings
        self.transports = transports
        self.idle_count = 0
        self.idle = IdleShares()
        self.open: set[KeptConnection] = set()
        self.coming: set[asyncio.Task[None]] = set()

    def now(self) -> float:
        """The time of the loop, in seconds."""
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

    def lost(self, connection: KeptConnection) -> None:
        """Forgets a connection that has ended."""
        self.open.discard(connection)
        deadlines = self.deadlines
        deadlines.forget(connection)

    def close_all(self) -> None:
        """Cuts every connection, idle or in use. No further ones are made."""
        for task in tuple(self.coming):
            task.cancel()
        for connection in tuple(self.open):
            connection.abort()
