"""What follows on a connection whose client begins with TLS: a handshake before HTTP, a relay, or a refusal.

Waits for the ClientHello, and for what the handshake of its name needs. `greetings` decides.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from balancer.connections.arrivals import Arrival, ByAlpn
from balancer.connections.arriving import ArrivingConnections
from balancer.connections.clienthello import HELLO_BYTES_MAX, NO_APPLICATION_PROTOCOL, Hello
from balancer.connections.greetings import Asking, Greetings, context_for, speaks
from balancer.connections.handshaking import UnfinishedHandshakes
from balancer.connections.hellos import AwaitedHello
from balancer.connections.peeking import refuse_hello
from balancer.connections.plain_requests import refuses_plain_request
from balancer.http.current import CurrentSettings
from balancer.matching.clients import peer_key
from balancer.matching.relay_tables import Choice, Unrouted
from balancer.model.entry_points import EntryPoint, Protocol
from balancer.runtime.accepted import AcceptedSocket
from balancer.runtime.deadlines import Deadlines
from balancer.runtime.reading import ReadsPieces
from balancer.runtime.tcp import TcpTransports
from balancer.runtime.tls import TlsTransport
from balancer.runtime.tls_handshakes import TlsHandshake
from balancer.runtime.transports import reset_on_close

_LEAST_SECONDS = 0.01
_HELLOS_BYTES = 16 * 1024 * 1024  # 256 connections of an entry point for TLS may owe their ClientHello

Make = Callable[[Arrival, bool], ReadsPieces]
"""Makes the protocol of a connection; the second argument says whether it speaks HTTP/2."""


class Handshakes:
    """Leads connections to what they want.

    `settings` are read anew for each connection. `client` makes those of HTTP, and `relay` those that are carried as
    bytes. A handshake, with the wait for its ClientHello, may take `seconds`; `unfinished` bounds those under way.
    `note` counts, by kind, what was not taken in.
    """

    __slots__ = (
        "_arriving",
        "_client",
        "_deadlines",
        "_greetings",
        "_hellos",
        "_loop",
        "_note",
        "_relay",
        "_seconds",
        "_settings",
        "_transports",
        "_unfinished",
    )

    def __init__(
        self,
        *,
        settings: CurrentSettings,
        greetings: Greetings,
        arriving: ArrivingConnections,
        client: Make,
        relay: Make,
        note: Callable[[str], None],
        transports: TcpTransports,
        deadlines: Deadlines,
        seconds: float,
        unfinished: UnfinishedHandshakes,
    ) -> None:
        self._settings = settings
        self._greetings = greetings
        self._arriving = arriving
        self._client = client
        self._relay = relay
        self._note = note
        self._transports = transports
        self._deadlines = deadlines
        self._loop = deadlines.loop
        self._seconds = seconds
        self._unfinished = unfinished
        self._hellos: dict[str, UnfinishedHandshakes] = {}

    def owed(self, entry_point: EntryPoint) -> UnfinishedHandshakes | None:
        """The bound of connections of an entry point that owe their ClientHello. None: places bound them."""
        if entry_point.protocol is not Protocol.TLS:
            return None
        return self._hellos.setdefault(entry_point.key, UnfinishedHandshakes(_HELLOS_BYTES))

    def forget(self, entry_point: EntryPoint) -> None:
        """An entry point has gone."""
        self._hellos.pop(entry_point.key, None)

    def begin(self, connection: AcceptedSocket, arrival: Arrival) -> None:
        """Goes on with a connection when its ClientHello is there, as it may be by now."""
        transports, deadlines, arriving = self._transports, self._deadlines, self._arriving
        awaited = AwaitedHello(arrival, self._loop.time() + self._seconds, self._greet, self._unheard)
        try:
            tcp = transports.open(connection, awaited, HELLO_BYTES_MAX)  # type: ignore[arg-type]  # as it is to protocols
        except OSError:
            self._note("tls_handshake")
            connection.close()
            return
        tcp.read_now()
        if not awaited.closed:
            deadlines.arm(awaited, awaited.until)
            arriving.enter(awaited, peer_key(arrival.peer), self.owed(arrival.entry_point))

    def _unheard(self, awaited: AwaitedHello, failed: bool) -> None:
        """A connection has ended before anybody knew what its client wants."""
        self._settle(awaited)
        if failed:
            self._note("tls_handshake")

    def _settle(self, awaited: AwaitedHello) -> None:
        """Nobody waits for this ClientHello any more."""
        arrival, deadlines, arriving = awaited.arrival, self._deadlines, self._arriving
        awaited.settle()
        deadlines.forget(awaited)
        arriving.leave(awaited, self._hellos.get(arrival.entry_point.key))

    def _greet(self, awaited: AwaitedHello, hello: Hello) -> None:
        """The ClientHello has come."""
        arrival, tcp, greetings = awaited.arrival, awaited.tcp, self._greetings
        arrival.server_name = hello.server_name
        choice = greetings.choice(arrival.entry_point, hello)
        if isinstance(choice, Unrouted):
            self._settle(awaited)
            self._note("stream_refused")
            reset_on_close(tcp)  # type: ignore[arg-type]  # as it is to protocols
            tcp.abort()
        elif choice is not None and not choice.route.ends_tls:
            self._settle(awaited)
            tcp.hand_to(self._relay(arrival, False))
        elif choice is None and self._is_refused(awaited, hello):
            self._settle(awaited)
            self._note("tls_handshake")
            tcp.close()
        else:
            self._go_on(awaited, hello, choice)

    def _is_refused(self, awaited: AwaitedHello, hello: Hello) -> bool:
        """Whether a client gets no handshake. The client was told why, as far as that was possible."""
        tcp = awaited.tcp
        if speaks(hello, self._settings.proxy.http2.enabled):
            return not hello.needs_bytes and refuses_plain_request(tcp.get_extra_info("socket"))
        with suppress(OSError):
            refuse_hello(tcp.get_extra_info("socket"), NO_APPLICATION_PROTOCOL)
        return True

    def _go_on(self, awaited: AwaitedHello, hello: Hello, choice: Choice) -> None:
        """Begins the handshake as soon as there is what its name needs."""
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
        tcp = awaited.tcp
        try:
            await names.prepare(hello.server_name)
        except (KeyError, OSError):
            awaited.fail()
            return
        if not tcp.is_closing():
            self._shake(awaited, hello, choice, names)

    def _shake(self, awaited: AwaitedHello, hello: Hello, choice: Choice, names: Asking) -> None:
        """Begins the handshake."""
        arrival, arriving = awaited.arrival, self._arriving
        protocol = ByAlpn(arrival, self._client if choice is None else self._relay, self._refuse)
        handshake = TlsHandshake(protocol, self._shaken, self._deadlines)
        until = max(awaited.until, self._loop.time() + _LEAST_SECONDS)
        self._settle(awaited)
        handshake.begin(awaited.tcp, context_for(names, hello), until)
        arrival.arriving = handshake
        chain_bytes = names.chain_bytes(hello.server_name)
        arriving.enter(handshake, peer_key(arrival.peer), self._unfinished, chain_bytes)
        handshake.read_now()

    def _shaken(self, handshake: TlsHandshake, failed: bool) -> None:
        arriving = self._arriving
        arriving.leave(handshake, self._unfinished)
        if failed:
            self._note("tls_handshake")

    def _refuse(self, transport: TlsTransport) -> None:
        """Cuts a connection whose handshake must not count."""
        self._note("tls_handshake")
        transport.abort()
