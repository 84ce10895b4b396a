"""A reception on two free ports, as clients find it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec

from balancer.connections.accepting import Reception
from balancer.connections.arrivals import Arrival
from balancer.connections.client_making import ClientMaker
from balancer.connections.greetings import Asking
from balancer.connections.handshaking import UnfinishedHandshakes
from balancer.connections.listeners import listen, port_of
from balancer.connections.places import ClientPlaces
from balancer.connections.raw import RawConnection
from balancer.connections.tls import ServerNames, self_signed
from balancer.connections.unread import Unread
from balancer.http.current import CurrentSettings
from balancer.http.streams import Connection
from balancer.http1.connection import ClientConnection
from balancer.http2.flushing import Flusher
from balancer.matching.relay_tables import Choice
from balancer.model.entry_points import HTTP, HTTPS, EntryPoint
from balancer.model.publication import RoutingModel
from balancer.model.settings import ProxySettings
from balancer.runtime.deadlines import Deadlines
from balancer.runtime.tcp import TcpTransports
from tests.fakes.sockets import until
from tests.unit.balancer.http1.listening import forget
from tests.unit.balancer.http2.talking import Noted, Server

V1 = b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n"
PLENTY = 1000
_ROOM_BYTES = 20 * 64 * 1024  # for twenty unfinished handshakes


class _Names(ServerNames):
    """Names whose handshakes count without their certificates, so that a test says how many there is room for.

    Unless `is_prepared`, every handshake waits for `prepared`, and `preparing` of them do so now.
    """

    def __init__(self) -> None:
        super().__init__(self_signed())
        self.is_prepared, self.prepared, self.preparing = True, asyncio.Event(), 0

    def is_ready(self, server_name: str | None) -> bool:
        return self.is_prepared

    async def prepare(self, server_name: str | None) -> None:
        self.preparing += 1
        try:
            await self.prepared.wait()
        finally:
            self.preparing -= 1

    def chain_bytes(self, server_name: str | None) -> int:
        return 0


class NoRelays:
    """Speaks HTTP with everybody."""

    def relays_at(self, entry_point: EntryPoint) -> bool:
        return False

    def choice(self, entry_point: EntryPoint, server_name: str | None) -> Choice:
        raise AssertionError("nothing is relayed")

    def names(self, entry_point: EntryPoint) -> Asking:
        raise AssertionError("nothing is relayed")

    def make(self, arrival: Arrival, on_open: Callable[[Connection], None]) -> RawConnection:
        raise AssertionError("nothing is relayed")


class Desk:
    """A reception on two free ports, and what it has handed over and noted."""

    def __init__(self, *, bound: int, settings: ProxySettings, handshake_seconds: float) -> None:
        self.clients: list[ClientConnection] = []
        self.all_clients: list[Connection] = []
        self.notes: list[str] = []
        self.places: ClientPlaces = ClientPlaces()
        self._writers: list[asyncio.StreamWriter] = []
        self._deadlines = Deadlines(asyncio.get_running_loop())
        names = self.names = _Names()
        names.update(RoutingModel())
        self.reception = Reception(
            settings=CurrentSettings(settings),
            names=lambda _: names,
            clients=ClientMaker(
                settings=CurrentSettings(settings),
                deadlines=self._deadlines,
                names=lambda _: names,
                flusher=Flusher(asyncio.get_running_loop(), Unread(CurrentSettings(settings))),
                tally=Noted(),
            ),
            relays=NoRelays(),
            places=self.places,
            bound=bound,
            hand_over=self._take,
            note=self.notes.append,
            handshake_seconds=handshake_seconds,
            pause_seconds=0.02,
            transports=TcpTransports(asyncio.get_running_loop()),
            deadlines=self._deadlines,
            unfinished=UnfinishedHandshakes(_ROOM_BYTES),
        )
        self._listeners = {secure: listen("127.0.0.1", 0) for secure in (False, True)}
        self.ports = {secure: port_of(listener) for secure, listener in self._listeners.items()}
        self.reception.open({HTTPS.socket if secure else HTTP.socket: each for secure, each in self._listeners.items()})
        self.reception.use((HTTP, HTTPS))

    def _take(self, client: Connection) -> None:
        self.all_clients.append(client)
        if isinstance(client, ClientConnection):
            self.clients.append(client)
        else:
            client.start(Server(answers=True))

    async def connect(
        self, *, secure: bool = False, first: bytes = b"", address: str = "127.0.0.1"
    ) -> asyncio.StreamWriter:
        """A connection from `address` over which `first` was sent; never a handshake."""
        _, writer = await asyncio.open_connection("127.0.0.1", self.ports[secure], local_addr=(address, 0))
        writer.write(first)
        self._writers.append(writer)
        return writer

    def close(self) -> None:
        self.reception.stop()
        for client in self.all_clients:
            client.abort()
        for one in self.clients:
            forget(one)
        for writer in self._writers:
            writer.transport.abort()
        self._deadlines.stop()


@asynccontextmanager
async def desk(*, bound: int = PLENTY, handshake_seconds: float = 0.2, **settings: object) -> AsyncIterator[Desk]:
    changed = msgspec.structs.replace(ProxySettings(), **settings)
    made = Desk(bound=bound, settings=changed, handshake_seconds=handshake_seconds)
    try:
        yield made
    finally:
        made.close()
        await until(lambda: not made.reception.arriving and all(client.closed for client in made.clients))
