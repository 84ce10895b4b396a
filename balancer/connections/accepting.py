"""Accepts connections: bounds their number, reads PROXY headers and begins TLS handshakes.

Accepts on its own and not with the event loop's listeners, because a PROXY header comes before the handshake, and
because the limit must include connections in their handshake. Does not know requests or routes.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Final, cast

from balancer.connections.arrivals import Arrival, Arriving
from balancer.connections.arriving import ArrivingConnections
from balancer.connections.client_making import ClientMaker
from balancer.connections.entrances import PAUSE_SECONDS, Accepted, Entrances
from balancer.connections.greetings import Asking, Greetings, RelayMaker
from balancer.connections.handshakes import Handshakes
from balancer.connections.handshaking import UnfinishedHandshakes
from balancer.connections.peeking import begins_http2, receive_proxy_header
from balancer.connections.places import ClientPlaces
from balancer.connections.proxyprotocol import InvalidHeader, ProxyHeader
from balancer.connections.raw import RawConnection
from balancer.http.current import CurrentSettings
from balancer.http.streams import Connection
from balancer.http1.connection import ClientConnection
from balancer.http2.client import Http2Connection
from balancer.matching.clients import peer_key
from balancer.model.entry_points import EntryPoint, Protocol
from balancer.model.settings import ProxySettings
from balancer.runtime.accepted import AcceptedSocket
from balancer.runtime.deadlines import Deadlines
from balancer.runtime.reading import ReadsPieces
from balancer.runtime.tcp import TcpTransports

# A member of an Enum is a slow look-up, for each connection.
_HTTP: Final = Protocol.HTTP
_TCP: Final = Protocol.TCP


class Reception:
    """Takes in connections for one worker and hands over each one that is ready for requests.

    `settings` are read anew for each connection. `places` has every connection that is open; whoever gets one that was
    handed over says when it ends. `bound` is the most that descriptors allow. `note` counts, by kind, connections that
    were not taken in. Without descriptors nothing is accepted for `pause_seconds`. `names` knows the handshakes of an
    entry point for HTTPS. `clients` makes connections of HTTP, and `relays` those that are carried as bytes.
    `transports` carry the connections. `unfinished` bounds the handshakes under way.
    """

    __slots__ = (
        "_arriving",
        "_bound",
        "_client_maker",
        "_entrances",
        "_hand_over",
        "_handshakes",
        "_loop",
        "_note",
        "_relays",
        "_settings",
        "_transports",
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
        self._bound = bound
        self._hand_over = hand_over
        self._note = note
        self._client_maker = clients
        self._relays = relays
        self._transports = transports
        self._entrances = Entrances(take=self._take, note=note, pause_seconds=pause_seconds)
        self._arriving = ArrivingConnections(places, note)
        self._handshakes = Handshakes(
            settings=settings,
            greetings=Greetings(names, relays),
            arriving=self._arriving,
            client=self._client,
            relay=self._relay,
            note=note,
            transports=transports,
            deadlines=deadlines,
            seconds=handshake_seconds,
            unfinished=unfinished or UnfinishedHandshakes(),
        )

    @property
    def arriving(self) -> Collection[Arriving]:
        """Who has connections that were not handed over yet."""
        return self._arriving.members

    def open(self, sockets: Mapping[str, socket.socket]) -> None:
        """Accepts connections from listening, non-blocking sockets, by name. `close` closes the sockets."""
        self._entrances.open(sockets)

    def use(self, entry_points: Iterable[EntryPoint]) -> tuple[EntryPoint, ...]:
        """Lets these entry points, and no others, stand on their sockets. Returns those that are gone."""
        gone, handshakes = self._entrances.use(entry_points), self._handshakes
        for each in gone:
            handshakes.forget(each)
        return gone

    def close(self) -> None:
        """Stops accepting. Arriving connections may continue."""
        self._entrances.close()

    def stop(self) -> None:
        """Stops accepting and drops arriving connections."""
        self.close()
        arriving = self._arriving
        arriving.end()

    def _take(self, accepted: Accepted, entry_point: EntryPoint) -> None:
        settings, reads_hello = self._settings.proxy, entry_point.reads_hello
        is_http = entry_point.protocol is _HTTP
        may_be_http2 = is_http and (settings.http2.cleartext or entry_point.http2_cleartext)
        is_announced = entry_point.is_announced(settings.proxy_protocol)
        most, arriving, handshakes = self._most(settings), self._arriving, self._handshakes
        for connection, peer in accepted:
            if arriving.is_full(most) and not arriving.makes_room(peer_key(peer), self._loop.time()):
                connection.close()
            elif is_announced or (may_be_http2 and not reads_hello):
                self._welcome_later(connection, peer, entry_point)
            elif reads_hello:
                handshakes.begin(connection, Arrival(peer, None, entry_point))
            else:
                self._open(connection, self._plain(Arrival(peer, None, entry_point)))

    def _most(self, settings: ProxySettings) -> int:
        """How many connections may be open."""
        return min(settings.client_connections, self._bound)

    def _welcome_later(self, connection: AcceptedSocket, peer: str, entry_point: EntryPoint) -> None:
        task = self._loop.create_task(self._welcome(connection, peer, entry_point))
        arriving, handshakes = self._arriving, self._handshakes
        owed = handshakes.owed(entry_point)
        arriving.enter(task, peer_key(peer), owed)
        task.add_done_callback(partial(arriving.leave, bound=owed))

    def _plain(self, arrival: Arrival, http2: bool = False) -> ReadsPieces:
        """The protocol of a connection at an entry point where clients do not begin with TLS."""
        if arrival.entry_point.protocol is _TCP:
            return self._relay(arrival)
        return self._client(arrival, http2)

    def _open(self, connection: AcceptedSocket, protocol: ReadsPieces) -> None:
        """Takes in a connection of which nothing more has to be known before its first bytes are read."""
        transports = self._transports
        try:
            transports.open(connection, protocol)
        except OSError:
            connection.close()

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
            handshakes = self._handshakes
            handshakes.begin(connection, arrival)
        else:
            arrival.arriving = asyncio.current_task()
            await self._take_in_plain(connection, arrival)

    def _moves(self, peer: str, settings: ProxySettings) -> bool:
        """Whether there is a place for the client that a PROXY header names."""
        task, arriving = cast("asyncio.Task[None]", asyncio.current_task()), self._arriving
        return arriving.moves(task, peer_key(peer), self._most(settings), self._loop.time())

    async def _take_in_plain(self, connection: AcceptedSocket, arrival: Arrival) -> None:
        http2, settings = False, self._settings.proxy
        try:
            entry_point = arrival.entry_point
            takes_http2 = settings.http2.cleartext or entry_point.http2_cleartext
            if takes_http2 and entry_point.protocol is _HTTP:
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
        arriving = self._arriving
        if arrival.arriving is not None:
            arriving.leave(arrival.arriving)  # from here on it is held
            arrival.arriving = None
        arriving.hand_over(client, peer_key(arrival.peer))
        self._hand_over(client)

    async def _announced(self, connection: socket.socket, settings: ProxySettings) -> ProxyHeader:
        async with asyncio.timeout(settings.proxy_protocol_timeout_seconds):
            return await receive_proxy_header(connection)
