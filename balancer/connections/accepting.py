"""Accepts connections: bounds their number, reads PROXY headers and does TLS handshakes.

Accepts on its own and not with the event loop's listeners, because a PROXY header comes before the handshake, and
because the limit must include connections in their handshake. Does not know requests or routes.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Protocol, cast

from balancer.connections.arrivals import Arrival, Arriving, ByAlpn, cut, is_idle
from balancer.connections.clienthello import NO_APPLICATION_PROTOCOL, Hello
from balancer.connections.entrances import PAUSE_SECONDS, WAIT_SECONDS, Entrances
from balancer.connections.handshaking import UnfinishedHandshakes
from balancer.connections.peeking import begins_http2, hello_at_hand, receive_hello, receive_proxy_header
from balancer.connections.places import ClientPlaces
from balancer.connections.plain_requests import refuses_plain_request
from balancer.connections.proxyprotocol import InvalidHeader, ProxyHeader
from balancer.http.current import CurrentSettings
from balancer.http.streams import Connection
from balancer.http1.connection import ClientConnection
from balancer.http1.first_heads import FirstHeads
from balancer.http2.client import Http2Connection
from balancer.http2.flushing import Flusher
from balancer.http2.intake import FaultTally
from balancer.matching.clients import peer_key
from balancer.model.entry_points import EntryPoint
from balancer.model.settings import ProxySettings
from balancer.runtime.deadlines import Deadlines
from balancer.runtime.tcp import TcpTransports
from balancer.runtime.tls import TlsTransport

_LEAST_HANDSHAKE_SECONDS = 0.01
_HTTP2 = b"h2"
_SPOKEN = {False: frozenset((b"http/1.1",)), True: frozenset((b"http/1.1", _HTTP2))}  # by whether HTTP/2 is on


class Asking(Protocol):
    """Knows for which names clients are asked for certificates."""

    @property
    def asks(self) -> bool:
        """Whether there is any such name."""

    def is_ready(self, server_name: str | None) -> bool:
        """Whether `context_for` has nothing to read for this name that would hold the event loop."""

    async def prepare(self, server_name: str | None) -> None:
        """Waits until `is_ready`."""

    def context_for(self, server_name: str | None) -> ssl.SSLContext | None:
        """The context of a handshake for a name as the client sent it; None if the usual one will do."""

    def share_certificate(self, server_name: str, host: str) -> bool:
        """Whether a handshake for `server_name` shows the certificate that one for `host` would show."""

    def chain_bytes(self, server_name: str | None) -> int:
        """The size of the chain that a handshake for a name shows."""

    @property
    def listener_context(self) -> ssl.SSLContext:
        """The context of a handshake for which `context_for` gives none."""

    @property
    def is_divided(self) -> bool:
        """Whether a name decides which listener serves the requests of a connection."""


class Reception:
    """Takes in connections for one worker and hands over each one that is ready for requests.

    `settings` are read anew for each connection. `places` has every connection that is open; whoever gets one that was
    handed over says when it ends. `bound` is the most that descriptors allow. `note` counts, by kind, connections that
    were not taken in. Without descriptors nothing is accepted for `pause_seconds`, and a connection waits for an entry
    point for `wait_seconds`. `names` knows the handshakes of an entry point for HTTPS. `flusher` is for connections in
    HTTP/2, and `tally` counts what goes wrong on them. `transports` carry the connections.
    `unfinished` bounds the handshakes under way.
    """

    def __init__(
        self,
        *,
        settings: CurrentSettings,
        deadlines: Deadlines,
        names: Callable[[EntryPoint], Asking],
        places: ClientPlaces[Arriving | Connection],
        bound: int,
        hand_over: Callable[[Connection], None],
        note: Callable[[str], None],
        tally: FaultTally,
        handshake_seconds: float,
        flusher: Flusher,
        transports: TcpTransports,
        pause_seconds: float = PAUSE_SECONDS,
        wait_seconds: float = WAIT_SECONDS,
        unfinished: UnfinishedHandshakes[TlsTransport] | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._settings = settings
        self._deadlines = deadlines
        self._first_heads = FirstHeads()
        self._names = names
        self._places = places
        self._bound = bound
        self._hand_over = hand_over
        self._note = note
        self._tally = tally
        self._handshake_seconds = handshake_seconds
        self._flusher = flusher
        self._transports = transports
        self._entrances = Entrances(take=self._take, note=note, pause_seconds=pause_seconds, wait_seconds=wait_seconds)
        self._unfinished = unfinished or UnfinishedHandshakes()
        self.arriving: set[Arriving] = set()

    def open(self, sockets: Mapping[str, socket.socket]) -> None:
        """Accepts connections from listening, non-blocking sockets, by name. `close` closes the sockets."""
        self._entrances.open(sockets)

    def use(self, entry_points: Iterable[EntryPoint]) -> tuple[EntryPoint, ...]:
        """Lets these entry points, and no others, stand on their sockets. Returns those that are gone."""
        return self._entrances.use(entry_points)

    def close(self) -> None:
        """Stops accepting. Arriving connections may continue."""
        self._entrances.close()

    def stop(self) -> None:
        """Stops accepting and drops arriving connections."""
        self.close()
        for arriving in self.arriving:
            arriving.cancel()

    def _take(self, accepted: Iterable[tuple[socket.socket, str]], entry_point: EntryPoint) -> None:
        settings, secure = self._settings.proxy, entry_point.is_secure
        reads_first = secure or settings.proxy_protocol or settings.http2.cleartext
        most = min(settings.client_connections, self._bound)
        for connection, peer in accepted:
            if len(self._places) >= most and not self._makes_room(peer):
                connection.close()
            elif not reads_first:
                self._open(connection, Arrival(peer, None, entry_point), http2=False)
            elif not secure or settings.proxy_protocol or not self._shake_hands(connection, peer, entry_point):
                self._welcome_later(connection, peer, entry_point)

    def _makes_room(self, peer: str) -> bool:
        """Ends a connection for a new one of `peer`, unless the new one has to end for others."""
        self._note("connection_limit")
        gone = self._places.displaced_by(peer_key(peer), partial(is_idle, now=self._loop.time()))
        if gone is not None:
            cut(gone)
        return gone is not None

    def _welcome_later(self, connection: socket.socket, peer: str, entry_point: EntryPoint) -> None:
        task = self._loop.create_task(self._welcome(connection, peer, entry_point))
        self.arriving.add(task)
        self._places.enter(task, peer_key(peer))
        task.add_done_callback(self._welcomed)

    def _welcomed(self, task: asyncio.Task[None]) -> None:
        self.arriving.discard(task)
        self._places.leave(task)

    def _open(self, connection: socket.socket, arrival: Arrival, *, http2: bool) -> None:
        """Takes in a connection of which nothing more has to be known before its first request."""
        try:
            self._transports.open(connection, self._client(arrival, http2))
        except OSError:
            connection.close()

    def _shake_hands(self, connection: socket.socket, peer: str, entry_point: EntryPoint) -> bool:
        """Begins the handshake if the ClientHello is there, as it nearly always is, and what its name needs.

        False: these have to be waited for.
        """
        hello = hello_at_hand(connection, _SPOKEN[self._settings.proxy.http2.enabled])
        if hello is None or not self._names(entry_point).is_ready(hello.server_name):
            return False
        arrival = Arrival(peer, None, entry_point)
        self._shake(connection, arrival, hello, self._handshake_seconds)
        return True

    def _shake(self, connection: socket.socket, arrival: Arrival, hello: Hello, seconds: float) -> None:
        """Begins a handshake, which may take `seconds`."""
        if not hello.needs_bytes and refuses_plain_request(connection):
            self._note("tls_handshake")
            return
        arrival.server_name = hello.server_name
        names = self._names(arrival.entry_point)
        tls, protocol = _context_for(names, hello), ByAlpn(arrival, make=self._client, refuse=self._refuse)
        handshake = TlsTransport(protocol, self._shaken)
        try:
            handshake.begin(self._loop, self._transports, connection, tls, seconds)
        except OSError:
            self._note("tls_handshake")
            connection.close()
        else:
            arrival.arriving = handshake
            self.arriving.add(handshake)
            self._places.enter(handshake, peer_key(arrival.peer))
            chain_bytes = names.chain_bytes(hello.server_name)
            for each in self._unfinished.begin(handshake, address=arrival.peer, chain_bytes=chain_bytes):
                self._note("handshake_limit")
                each.cancel()

    def _shaken(self, handshake: TlsTransport, failed: bool) -> None:
        self.arriving.discard(handshake)
        self._places.leave(handshake)
        self._unfinished.over(handshake)
        if failed:
            self._note("tls_handshake")

    async def _welcome(self, connection: socket.socket, peer: str, entry_point: EntryPoint) -> None:
        settings = self._settings.proxy
        connection.setblocking(False)
        port = None
        try:
            if settings.proxy_protocol:
                header = await self._announced(connection, settings)
                peer, port = header.address or peer, header.port
                if header.address and not self._moves(peer, settings):
                    connection.close()
                    return
        except (InvalidHeader, OSError):  # TimeoutError is one
            self._note("proxy_protocol")
            connection.close()
            return
        except asyncio.CancelledError:
            connection.close()
            raise
        arrival = Arrival(peer, port, entry_point)
        if not entry_point.is_secure:
            arrival.arriving = asyncio.current_task()
            await self._take_in_plain(connection, arrival)
            return
        handshake_until = self._loop.time() + self._handshake_seconds
        hello = await self._hello(connection, self._names(entry_point), http2=settings.http2.enabled)
        if hello is None:
            self._note("tls_handshake")
            return
        left_seconds = max(handshake_until - self._loop.time(), _LEAST_HANDSHAKE_SECONDS)
        self._shake(connection, arrival, hello, left_seconds)

    def _moves(self, peer: str, settings: ProxySettings) -> bool:
        """Whether there is a place for the client that a PROXY header names. The one of who sent the header is free."""
        client, task = peer_key(peer), cast("asyncio.Task[None]", asyncio.current_task())
        self._places.leave(task)
        if len(self._places) >= min(settings.client_connections, self._bound) and not self._makes_room(peer):
            return False
        self._places.enter(task, client)
        return True

    async def _take_in_plain(self, connection: socket.socket, arrival: Arrival) -> None:
        http2, settings = False, self._settings.proxy
        try:
            if settings.http2.cleartext:
                async with asyncio.timeout(settings.client_header_timeout_seconds):
                    http2 = await begins_http2(connection)
        except OSError:  # TimeoutError is one
            connection.close()
            return
        except asyncio.CancelledError:
            connection.close()
            raise
        self._open(connection, arrival, http2=http2)

    def _client(self, arrival: Arrival, http2: bool) -> ClientConnection | Http2Connection:
        """The protocol of a connection that is ready for requests."""
        on_open = partial(self._arrived, arrival)
        if not http2:
            return ClientConnection(
                settings=self._settings,
                deadlines=self._deadlines,
                first_heads=self._first_heads,
                unread=self._flusher.unread,
                entry_point=arrival.entry_point,
                on_open=on_open,
                peer=arrival.peer,
                port=arrival.port,
                server_name=self._deciding_name(arrival),
            )
        serves = None
        name = self._deciding_name(arrival)
        if arrival.server_name and name is None:
            serves = partial(self._names(arrival.entry_point).share_certificate, arrival.server_name)
        return Http2Connection(
            settings=self._settings,
            deadlines=self._deadlines,
            flusher=self._flusher,
            entry_point=arrival.entry_point,
            on_open=on_open,
            tally=self._tally,
            serves=serves,
            peer=arrival.peer,
            port=arrival.port,
            server_name=name,
        )

    def _deciding_name(self, arrival: Arrival) -> str | None:
        """The name of a handshake that decided which listener the connection belongs to; None if none had to."""
        if not arrival.entry_point.is_secure or not self._names(arrival.entry_point).is_divided:
            return None
        return arrival.server_name or ""

    def _arrived(self, arrival: Arrival, client: Connection) -> None:
        if arrival.arriving is not None:
            self.arriving.discard(arrival.arriving)  # from here on it is held
            self._places.leave(arrival.arriving)
        self._places.enter(client, peer_key(arrival.peer))
        self._hand_over(client)

    async def _announced(self, connection: socket.socket, settings: ProxySettings) -> ProxyHeader:
        async with asyncio.timeout(settings.proxy_protocol_timeout_seconds):
            return await receive_proxy_header(connection)

    def _refuse(self, transport: asyncio.BaseTransport) -> None:
        """Cuts a connection whose handshake must not count."""
        self._note("tls_handshake")
        cast("asyncio.Transport", transport).abort()  # uvloop's are not of this class

    async def _hello(self, connection: socket.socket, names: Asking, *, http2: bool) -> Hello | None:
        """What a TLS client says first. None: it speaks no protocol that is spoken here, and was refused."""
        spoken = _SPOKEN[http2]
        try:
            async with asyncio.timeout(self._handshake_seconds):
                hello = await receive_hello(connection, spoken)
                await names.prepare(hello.server_name)
            if not hello.protocols or not spoken.isdisjoint(hello.protocols):
                return hello
            connection.send(NO_APPLICATION_PROTOCOL)
            connection.shutdown(socket.SHUT_WR)
        except OSError:  # TimeoutError is one
            pass
        except asyncio.CancelledError:
            connection.close()
            raise
        connection.close()
        return None


def _context_for(names: Asking, hello: Hello) -> ssl.SSLContext:
    tls = names.context_for(hello.server_name) if names.asks else None
    return tls or names.listener_context
