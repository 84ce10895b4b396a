"""Accepts connections: bounds their number, reads PROXY headers and does TLS handshakes.

Accepts on its own and not with the event loop's listeners, because a PROXY header comes before the handshake, and
because the limit must include connections in their handshake. Does not know requests or routes.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import cast

from balancer.connections.arrivals import Arrival, Arriving, ByAlpn, cut, is_idle
from balancer.connections.client_making import ClientMaker
from balancer.connections.clienthello import NO_APPLICATION_PROTOCOL, Hello
from balancer.connections.entrances import PAUSE_SECONDS, Accepted, Entrances, reset
from balancer.connections.greetings import Asking, Greetings, RelayMaker, context_for, speaks
from balancer.connections.handshaking import UnfinishedHandshakes
from balancer.connections.peeking import (
    begins_http2,
    hello_at_hand,
    receive_hello,
    receive_proxy_header,
    refuse_hello,
)
from balancer.connections.places import ClientPlaces
from balancer.connections.plain_requests import refuses_plain_request
from balancer.connections.proxyprotocol import InvalidHeader, ProxyHeader
from balancer.connections.raw import RawConnection
from balancer.http.current import CurrentSettings
from balancer.http.streams import Connection
from balancer.http1.connection import ClientConnection
from balancer.http2.client import Http2Connection
from balancer.matching.clients import peer_key
from balancer.matching.relay_tables import Choice, Unrouted
from balancer.model import entry_points
from balancer.model.entry_points import EntryPoint
from balancer.model.settings import ProxySettings
from balancer.runtime.accepted import AcceptedSocket
from balancer.runtime.deadlines import Deadlines
from balancer.runtime.reading import ReadsPieces
from balancer.runtime.tcp import TcpTransports
from balancer.runtime.tls import TlsTransport

_LEAST_HANDSHAKE_SECONDS = 0.01
_HELLOS_BYTES = 16 * 1024 * 1024  # 256 connections of an entry point for TLS may owe their ClientHello


class Reception:
    """Takes in connections for one worker and hands over each one that is ready for requests.

    `settings` are read anew for each connection. `places` has every connection that is open; whoever gets one that was
    handed over says when it ends. `bound` is the most that descriptors allow. `note` counts, by kind, connections that
    were not taken in. Without descriptors nothing is accepted for `pause_seconds`. `names` knows the handshakes of an
    entry point for HTTPS. `clients` makes connections of HTTP, and `relays` those that are carried as bytes.
    `transports` carry the connections. `unfinished` bounds the handshakes under way.
    """

    __slots__ = (
        "_bound",
        "_client_maker",
        "_deadlines",
        "_entrances",
        "_greetings",
        "_hand_over",
        "_handshake_seconds",
        "_hellos",
        "_loop",
        "_note",
        "_places",
        "_relays",
        "_settings",
        "_transports",
        "_unfinished",
        "arriving",
    )

    def __init__(
        self,
        *,
        settings: CurrentSettings,
        names: Callable[[EntryPoint], Asking],
        places: ClientPlaces,
        bound: int,
        hand_over: Callable[[Connection], None],
        note: Callable[[str], None],
        handshake_seconds: float,
        clients: ClientMaker,
        relays: RelayMaker,
        transports: TcpTransports,
        deadlines: Deadlines,
        pause_seconds: float = PAUSE_SECONDS,
        unfinished: UnfinishedHandshakes | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._settings = settings
        self._places = places
        self._bound = bound
        self._hand_over = hand_over
        self._note = note
        self._handshake_seconds = handshake_seconds
        self._client_maker = clients
        self._relays = relays
        self._greetings = Greetings(names, relays)
        self._transports = transports
        self._deadlines = deadlines
        self._entrances = Entrances(take=self._take, note=note, pause_seconds=pause_seconds)
        self._unfinished = unfinished or UnfinishedHandshakes()
        self._hellos: dict[str, UnfinishedHandshakes] = {}
        self.arriving: set[Arriving] = set()

    def open(self, sockets: Mapping[str, socket.socket]) -> None:
        """Accepts connections from listening, non-blocking sockets, by name. `close` closes the sockets."""
        self._entrances.open(sockets)

    def use(self, entry_points: Iterable[EntryPoint]) -> tuple[EntryPoint, ...]:
        """Lets these entry points, and no others, stand on their sockets. Returns those that are gone."""
        gone = self._entrances.use(entry_points)
        for each in gone:
            self._hellos.pop(each.key, None)
        return gone

    def close(self) -> None:
        """Stops accepting. Arriving connections may continue."""
        self._entrances.close()

    def stop(self) -> None:
        """Stops accepting and drops arriving connections."""
        self.close()
        for arriving in self.arriving:
            arriving.cancel()

    def _take(self, accepted: Accepted, entry_point: EntryPoint) -> None:
        settings, has_hello = self._settings.proxy, entry_point.reads_hello
        is_http = entry_point.protocol is entry_points.Protocol.HTTP
        may_be_http2 = is_http and (settings.http2.cleartext or entry_point.http2_cleartext)
        is_announced = entry_point.is_announced(settings.proxy_protocol)
        reads_first = has_hello or is_announced or may_be_http2
        most, places = min(settings.client_connections, self._bound), self._places
        for connection, peer in accepted:
            if len(places) >= most and not self._makes_room(peer):
                connection.close()
            elif not reads_first:
                self._open(connection, self._plain(Arrival(peer, None, entry_point)))
            elif not has_hello or is_announced or not self._shake_hands(connection, peer, entry_point):
                self._welcome_later(connection, peer, entry_point)

    def _makes_room(self, peer: str) -> bool:
        """Ends a connection for a new one of `peer`, unless the new one has to end for others."""
        places = self._places
        self._note("connection_limit")
        gone = places.displaced_by(peer_key(peer), partial(is_idle, now=self._loop.time()))
        if gone is not None:
            cut(gone)
        return gone is not None

    def _welcome_later(self, connection: AcceptedSocket, peer: str, entry_point: EntryPoint) -> None:
        task = self._loop.create_task(self._welcome(connection, peer, entry_point))
        client, places = peer_key(peer), self._places
        self.arriving.add(task)
        places.enter(task, client)
        task.add_done_callback(self._welcomed)
        if entry_point.protocol is entry_points.Protocol.TLS:
            hellos = self._hellos.setdefault(entry_point.key, UnfinishedHandshakes(_HELLOS_BYTES))
            task.add_done_callback(hellos.over)
            for each in hellos.begin(task, client, 0):
                self._note("handshake_limit")
                each.cancel()

    def _welcomed(self, task: asyncio.Task[None]) -> None:
        places = self._places
        self.arriving.discard(task)
        places.leave(task)

    def _plain(self, arrival: Arrival, http2: bool = False) -> ReadsPieces:
        """The protocol of a connection at an entry point where clients do not begin with TLS."""
        if arrival.entry_point.protocol is entry_points.Protocol.TCP:
            return self._relay(arrival)
        return self._client(arrival, http2)

    def _open(self, connection: AcceptedSocket, protocol: ReadsPieces) -> None:
        """Takes in a connection of which nothing more has to be known before its first bytes are read."""
        transports = self._transports
        try:
            transports.open(connection, protocol)
        except OSError:
            connection.close()

    def _shake_hands(self, connection: AcceptedSocket, peer: str, entry_point: EntryPoint) -> bool:
        """Goes on with a connection if its ClientHello is there, as it nearly always is, and what its name needs.

        False: these have to be waited for.
        """
        hello = hello_at_hand(connection)
        if hello is None:
            return False
        arrival = Arrival(peer, None, entry_point)
        arrival.server_name = hello.server_name
        greetings = self._greetings
        choice = greetings.choice(entry_point, hello)
        if self._is_over(connection, arrival, hello, choice):
            return True
        if not greetings.names_for(entry_point, choice).is_ready(hello.server_name):
            return False
        self._shake(connection, arrival, hello, choice, self._handshake_seconds)
        return True

    def _is_over(self, connection: AcceptedSocket, arrival: Arrival, hello: Hello, choice: Choice) -> bool:
        """Whether no handshake follows, because the connection was refused, or is relayed with its TLS."""
        if isinstance(choice, Unrouted):
            self._note("stream_refused")
            reset(connection)
            return True
        if choice is not None:
            if not choice.route.ends_tls:
                self._open(connection, self._relay(arrival))
            return not choice.route.ends_tls
        if speaks(hello, self._settings.proxy.http2.enabled):
            return False
        self._note("tls_handshake")
        with suppress(OSError):
            refuse_hello(connection.whole(), NO_APPLICATION_PROTOCOL)
        connection.close()
        return True

    def _shake(
        self, connection: AcceptedSocket, arrival: Arrival, hello: Hello, choice: Choice, seconds: float
    ) -> None:
        """Begins a handshake, which may take `seconds`."""
        if choice is None and not hello.needs_bytes and refuses_plain_request(connection.whole()):
            connection.close()
            self._note("tls_handshake")
            return
        entry_point, greetings = arrival.entry_point, self._greetings
        names = greetings.names_for(entry_point, choice)
        make = self._client if choice is None else self._relay
        tls, protocol = context_for(names, hello), ByAlpn(arrival, make, self._refuse)
        handshake = TlsTransport(protocol, self._shaken)
        try:
            handshake.begin(self._deadlines, self._transports, connection, tls, seconds)
        except OSError:
            self._note("tls_handshake")
            connection.close()
        else:
            arrival.arriving = handshake
            self.arriving.add(handshake)
            places, unfinished, client = self._places, self._unfinished, peer_key(arrival.peer)
            places.enter(handshake, client)
            for each in unfinished.begin(handshake, client, names.chain_bytes(hello.server_name)):
                self._note("handshake_limit")
                each.cancel()
            handshake.read_now()

    def _shaken(self, handshake: TlsTransport, failed: bool) -> None:
        places, unfinished = self._places, self._unfinished
        self.arriving.discard(handshake)
        places.leave(handshake)
        unfinished.over(handshake)
        if failed:
            self._note("tls_handshake")

    async def _welcome(self, connection: AcceptedSocket, peer: str, entry_point: EntryPoint) -> None:
        settings = self._settings.proxy
        port = None
        try:
            if entry_point.is_announced(settings.proxy_protocol):
                header = await self._announced(connection.whole(), settings)
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
        arrival.arriving = asyncio.current_task()
        if not entry_point.reads_hello:
            await self._take_in_plain(connection, arrival)
            return
        until = self._loop.time() + self._handshake_seconds
        try:
            async with asyncio.timeout_at(until):
                hello = await receive_hello(connection.whole())
                arrival.server_name = hello.server_name
                greetings = self._greetings
                choice = greetings.choice(entry_point, hello)
                if self._is_over(connection, arrival, hello, choice):
                    return
                await greetings.names_for(entry_point, choice).prepare(hello.server_name)
        except (KeyError, OSError):  # TimeoutError is one; without a key, the entry point has gone meanwhile
            self._note("tls_handshake")
            connection.close()
            return
        except asyncio.CancelledError:
            connection.close()
            raise
        self._shake(connection, arrival, hello, choice, max(until - self._loop.time(), _LEAST_HANDSHAKE_SECONDS))

    def _moves(self, peer: str, settings: ProxySettings) -> bool:
        """Whether there is a place for the client that a PROXY header names. The one of who sent the header is free."""
        client, task, places = peer_key(peer), cast("asyncio.Task[None]", asyncio.current_task()), self._places
        places.leave(task)
        if len(places) >= min(settings.client_connections, self._bound) and not self._makes_room(peer):
            return False
        places.enter(task, client)
        return True

    async def _take_in_plain(self, connection: AcceptedSocket, arrival: Arrival) -> None:
        http2, settings = False, self._settings.proxy
        try:
            entry_point = arrival.entry_point
            takes_http2 = settings.http2.cleartext or entry_point.http2_cleartext
            if takes_http2 and entry_point.protocol is entry_points.Protocol.HTTP:
                async with asyncio.timeout(settings.client_header_timeout_seconds):
                    http2 = await begins_http2(connection.whole())
        except OSError:  # TimeoutError is one
            connection.close()
            return
        except asyncio.CancelledError:
            connection.close()
            raise
        self._open(connection, self._plain(arrival, http2))

    def _client(self, arrival: Arrival, http2: bool) -> ClientConnection | Http2Connection:
        maker = self._client_maker
        return maker.make(arrival, http2, partial(self._arrived, arrival))

    def _relay(self, arrival: Arrival, _: bool = False) -> RawConnection:
        return self._relays.make(arrival, partial(self._arrived, arrival))

    def _arrived(self, arrival: Arrival, client: Connection) -> None:
        arriving, places = arrival.arriving, self._places
        if arriving is not None:
            self.arriving.discard(arriving)  # from here on it is held
            places.leave(arriving)
        places.enter(client, peer_key(arrival.peer))
        self._hand_over(client)

    async def _announced(self, connection: socket.socket, settings: ProxySettings) -> ProxyHeader:
        async with asyncio.timeout(settings.proxy_protocol_timeout_seconds):
            return await receive_proxy_header(connection)

    def _refuse(self, transport: TlsTransport) -> None:
        """Cuts a connection whose handshake must not count."""
        self._note("tls_handshake")
        transport.abort()
