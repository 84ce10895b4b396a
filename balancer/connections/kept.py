"""The connections to endpoints that a worker keeps: which are open, how many are idle, and what they share.

It must not know pools, requests or retries.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import Callable
from typing import Protocol, TypeVar

from balancer.connections.dialing import dial
from balancer.connections.endpoint_contexts import EndpointContexts
from balancer.connections.endpoint_tls import (
    check_shown,
    endpoint_name,
    make_endpoint_context,
    make_raw_context,
    shared_demands,
)
from balancer.connections.idle_shares import IdleShare, IdleShares
from balancer.connections.raw import RawConnection
from balancer.connections.unread import Unread
from balancer.errors import NoPlaceError
from balancer.http.current import CurrentSettings
from balancer.http1.endpoint import EndpointConnection
from balancer.http2.endpoint import Http2EndpointConnection
from balancer.http2.flushing import Flusher
from balancer.model.handshakes import Handshake
from balancer.picking.members import Member
from balancer.runtime.deadlines import Deadlines, Watched
from balancer.runtime.reading import ReadsPieces
from balancer.runtime.shares import FairShares
from balancer.runtime.tcp import TcpTransport, TcpTransports
from balancer.runtime.waiting import Bounded

_RAW_CONTEXTS_BYTES = 16 * 1024 * 1024  # few routes of streams speak TLS to endpoints

_Kept = TypeVar("_Kept", EndpointConnection, Http2EndpointConnection, RawConnection)


class KeptConnection(Watched, Protocol):
    """A connection to an endpoint, of any version. `idle_since` is a time of the loop."""

    idle_since: float

    def abort(self) -> None:
        """Cuts the connection."""


class _Deaf(ReadsPieces):
    """The protocol of a connection that is closed as soon as it is made: reads nothing."""

    def data_received(self, data: bytes) -> None: ...


class KeptConnections:
    """All connections of one worker to endpoints. `settings` are read again each time.

    `now` says the time of the loop, in seconds. `open` has every connection, and some of them are idle, by the shares
    of `idle`. `coming` are tasks that make connections. `transports` carry connections without TLS. Of `places`
    connections each namespace gets its share.
    """

    __slots__ = (
        "coming",
        "contexts",
        "deadlines",
        "flusher",
        "idle",
        "now",
        "open",
        "places",
        "raw_contexts",
        "settings",
        "transports",
    )

    def __init__(
        self,
        *,
        deadlines: Deadlines,
        settings: CurrentSettings,
        transports: TcpTransports,
        places: int = sys.maxsize,
    ) -> None:
        loop = asyncio.get_running_loop()
        self.now = loop.time  # no method of ours, because every request asks
        self.deadlines = deadlines
        self.flusher = Flusher(loop, Unread(settings))
        self.contexts = EndpointContexts(shared_demands, make_endpoint_context)
        self.raw_contexts = EndpointContexts(shared_demands, make_raw_context, _RAW_CONTEXTS_BYTES)
        self.settings = settings
        self.transports = transports
        self.idle = IdleShares()
        self.open: set[KeptConnection] = set()
        self.places = FairShares(places)
        self.coming: set[asyncio.Task[None]] = set()

    @property
    def idle_count(self) -> int:
        """How many connections are idle."""
        shares = self.idle
        return shares.count()

    def note_idle(self, connection: KeptConnection, share: IdleShare, seconds: float) -> None:
        """Notes that a shared `connection` is idle from now on. It is closed after `seconds`."""
        share.count += 1
        now = self.now()
        connection.idle_since = now
        connection.deadline = now + seconds
        if connection.deadline < connection.next_look:
            deadlines = self.deadlines
            deadlines.insert(connection)

    async def dialled(
        self,
        member: Member,
        make: Callable[[], _Kept],
        tls: Handshake | None,
        share: IdleShare,
        *,
        http2: bool = False,
        raw: bool = False,
    ) -> _Kept:
        """Connects to `member`, in place of an idle connection of `share` if its namespace has no more places.

        `http2`: an endpoint that speaks TLS must choose HTTP/2. `raw`: TLS offers no protocol. Raises NoPlaceError,
        ssl.SSLError if the endpoint has not shown what `tls` demands, or as `dial` does.
        """
        endpoint, places = member.endpoint, self.places
        contexts = self.raw_contexts if raw else self.contexts
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
                context=await contexts.of(share.namespace, tls, http2=http2) if tls else None,
                server_name=endpoint_name(tls, endpoint.address) if tls else None,
            )
        except BaseException:
            places.give_back(share.namespace)
            raise
        if connection.closed:
            places.give_back(share.namespace)
        else:
            self.open.add(connection)
        if tls is not None:
            _check(tls, transport, http2=http2)
        return connection

    async def knock(self, member: Member, timeout_seconds: float) -> None:
        """Makes a connection to `member` without TLS and closes it. Raises OSError or TimeoutError."""
        endpoint = member.endpoint
        async with Bounded(timeout_seconds, self.deadlines.absences):
            transport, _ = await dial(
                self.transports, _Deaf, endpoint.address, endpoint.port, context=None, server_name=None
            )
        transport.abort()

    def lost(self, connection: KeptConnection, namespace: str) -> None:
        """Forgets a connection of `namespace` that has ended."""
        if connection in self.open:
            self.open.remove(connection)
            self.places.give_back(namespace)
        deadlines = self.deadlines
        deadlines.forget(connection)

    def close_all(self) -> None:
        """Cuts every connection, idle or in use. No further ones are made."""
        for task in tuple(self.coming):
            task.cancel()
        for connection in tuple(self.open):
            connection.abort()


def _check(tls: Handshake, transport: asyncio.Transport | TcpTransport, *, http2: bool) -> None:
    """Cuts a connection, and raises ssl.SSLError, if what the endpoint has shown is not what is demanded.

    With `http2` the endpoint must have chosen HTTP/2 (RFC 9113 3.2).
    """
    handshake = transport.get_extra_info("ssl_object")
    try:
        check_shown(tls, handshake)
        if http2 and handshake.selected_alpn_protocol() != "h2":
            raise ssl.SSLError("the endpoint does not offer HTTP/2")
    except ssl.SSLError:
        transport.abort()
        raise
