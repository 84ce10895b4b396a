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
from balancer.connections.clienthello import HELLO_BYTES_MAX, NO_APPLICATION_PROTOCOL, Hello
from balancer.connections.entrances import PAUSE_SECONDS, Accepted, Entrances
from balancer.connections.greetings import Asking, Greetings, RelayMaker, context_for, speaks
from balancer.connections.handshaking import UnfinishedHandshakes
from balancer.connections.hellos import AwaitedHello
from balancer.connections.peeking import begins_http2, receive_proxy_header, refuse_hello
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
from balancer.runtime.tls_handshakes import TlsHandshake
from balancer.runtime.transports import reset_on_close

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
        settings, reads_hello = self._settings.proxy, entry_point.reads_hello
        is_http = entry_point.protocol is entry_points.Protocol.HTTP
        may_be_http2 = is_http and (settings.http2.cleartext or entry_point.http2_cleartext)
        is_announced = entry_point.is_announced(settings.proxy_protocol)
        most, places = min(settings.client_connections, self._bound), self._places
        for connection, peer in accepted:
            if len(places) >= most and not self._makes_room(peer):
                connection.close()
            elif is_announced or (may_be_http2 and not reads_hello):
                self._welcome_later(connection, peer, entry_point)
            elif reads_hello:
                self._await_hello(connection, Arrival(peer, None, entry_point))
            else:
                self._open(connection, self._plain(Arrival(peer, None, entry_point)))

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
        self._enter(task, peer, entry_point)
        task.add_done_callback(partial(self._leave, entry_point=entry_point))

    def _enter(self, member: Arriving, peer: str, entry_point: EntryPoint) -> None:
        """A connection arrives, and `member` has it."""
        client, places = peer_key(peer), self._places
        self.arriving.add(member)
        places.enter(member, client)
        if entry_point.protocol is entry_points.Protocol.TLS:
            hellos = self._hellos.setdefault(entry_point.key, UnfinishedHandshakes(_HELLOS_BYTES))
            self._end_for(hellos.begin(member, client, 0))

    def _leave(self, member: Arriving, entry_point: EntryPoint) -> None:
        """`member` has the connection no more."""
        places, hellos = self._places, self._hellos.get(entry_point.key)
        self.arriving.discard(member)
        places.leave(member)
        if hellos is not None:
            hellos.over(member)

    def _end_for(self, ended: list[Arriving]) -> None:
        """Ends connections for a new one, for which there would be no room."""
        for each in ended:
            self._note("handshake_limit")
            each.cancel()

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

    def _await_hello(self, connection: AcceptedSocket, arrival: Arrival) -> None:
        """Goes on with a connection when its ClientHello is there, as it may be by now."""
        transports, deadlines = self._transports, self._deadlines
        awaited = AwaitedHello(arrival, self._loop.time() + self._handshake_seconds, self._greet, self._unheard)
        try:
            tcp = transports.peek(connection, awaited, HELLO_BYTES_MAX)
        except OSError:
            self._note("tls_handshake")
            connection.close()
            return
        tcp.read_now()
        if not awaited.closed:
            self._enter(awaited, arrival.peer, arrival.entry_point)
            deadlines.arm(awaited, awaited.until)

    def _unheard(self, awaited: AwaitedHello, failed: bool) -> None:
        """A connection has ended before it was known what it wants."""
        self._settle(awaited)
        if failed:
            self._note("tls_handshake")

    def _settle(self, awaited: AwaitedHello) -> None:
        arrival, deadlines = awaited.arrival, self._deadlines
        awaited.settle()
        deadlines.forget(awaited)
        self._leave(awaited, arrival.entry_point)

    def _greet(self, awaited: AwaitedHello, hello: Hello) -> None:
        """Decides what follows a ClientHello."""
        arrival, tcp, greetings = awaited.arrival, awaited.tcp, self._greetings
        entry_point = arrival.entry_point
        arrival.server_name = hello.server_name
        choice = greetings.choice(entry_point, hello)
        if isinstance(choice, Unrouted):
            self._settle(awaited)
            self._note("stream_refused")
            reset_on_close(tcp)  # type: ignore[arg-type]  # as it is to protocols
            tcp.abort()
        elif choice is not None and not choice.route.ends_tls:
            self._settle(awaited)
            tcp.hand_to(self._relay(arrival))
        elif choice is None and self._is_refused(awaited, hello):
            self._settle(awaited)
            self._note("tls_handshake")
            tcp.close()
        else:
            self._go_on(awaited, hello, choice)

    def _is_refused(self, awaited: AwaitedHello, hello: Hello) -> bool:
        """Whether a client can get no handshake. It was told why, then, as far as that was possible."""
        tcp = awaited.tcp
        if speaks(hello, self._settings.proxy.http2.enabled):
            return not hello.needs_bytes and refuses_plain_request(tcp.get_extra_info("socket"))
        with suppress(OSError):
            refuse_hello(tcp.get_extra_info("socket"), NO_APPLICATION_PROTOCOL)
        return True

    def _go_on(self, awaited: AwaitedHello, hello: Hello, choice: Choice) -> None:
        """Begins the handshake, when there is what its name needs."""
        arrival, greetings = awaited.arrival, self._greetings
        try:
            names = greetings.names_for(arrival.entry_point, choice)
        except KeyError:  # the entry point has gone
            awaited.fail()
            return
        if names.is_ready(hello.server_name):
            self._shake(awaited, hello, choice, names)
        else:
            awaited.wait_for(self._loop.create_task(self._prepare(awaited, hello, choice, names)))

    async def _prepare(self, awaited: AwaitedHello, hello: Hello, choice: Choice, names: Asking) -> None:
        try:
            await names.prepare(hello.server_name)
        except (KeyError, OSError):
            awaited.fail()
            return
        tcp = awaited.tcp
        if not tcp.is_closing():
            self._shake(awaited, hello, choice, names)

    def _shake(self, awaited: AwaitedHello, hello: Hello, choice: Choice, names: Asking) -> None:
        """Begins a handshake."""
        arrival = awaited.arrival
        make = self._client if choice is None else self._relay
        protocol = ByAlpn(arrival, make, self._refuse)
        handshake = TlsHandshake(protocol, self._shaken, self._deadlines)
        until = max(awaited.until, self._loop.time() + _LEAST_HANDSHAKE_SECONDS)
        self._settle(awaited)
        handshake.begin(awaited.tcp, context_for(names, hello), until)
        arrival.arriving = handshake
        self.arriving.add(handshake)
        places, unfinished, client = self._places, self._unfinished, peer_key(arrival.peer)
        places.enter(handshake, client)
        self._end_for(unfinished.begin(handshake, client, names.chain_bytes(hello.server_name)))
        handshake.read_now()

    def _shaken(self, handshake: TlsHandshake, failed: bool) -> None:
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
        if entry_point.reads_hello:
            self._await_hello(connection, arrival)
        else:
            arrival.arriving = asyncio.current_task()
            await self._take_in_plain(connection, arrival)

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
