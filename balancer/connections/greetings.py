"""Decides what follows a ClientHello: a handshake before HTTP, a relay of the connection, or a refusal. No I/O."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Protocol

from balancer.connections.arrivals import Arrival
from balancer.connections.clienthello import Hello
from balancer.connections.raw import RawConnection
from balancer.http.streams import Connection
from balancer.matching.relay_tables import UNROUTED, Choice
from balancer.model.entry_points import EntryPoint

_SPOKEN = {False: frozenset((b"http/1.1",)), True: frozenset((b"http/1.1", b"h2"))}  # by whether HTTP/2 is on


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

    def chain_bytes(self, server_name: str | None) -> int:
        """The size of the chain that a handshake for a name shows."""

    def beginning_for(self, server_name: str | None) -> ssl.SSLContext:
        """The context with which a handshake begins for which `context_for` gives none."""


class RelayMaker(Protocol):
    """Knows which connections are relayed, and makes them."""

    def relays_at(self, entry_point: EntryPoint) -> bool:
        """Whether any connection of an entry point is relayed."""

    def choice(self, entry_point: EntryPoint, server_name: str | None) -> Choice:
        """What becomes of a connection that asks for a name; None: it names nobody."""

    def names(self, entry_point: EntryPoint) -> Asking:
        """Knows the handshakes of connections that are relayed after TLS has ended here."""

    def make(self, arrival: Arrival, on_open: Callable[[Connection], None]) -> RawConnection:
        """The protocol of a connection that is relayed. `on_open` gets the relay once it has a transport."""


class Greetings:
    """Knows, of each connection that began with a ClientHello, whether it is relayed and whose certificates it sees.

    `names` knows the handshakes of an entry point for HTTPS, and `relays` the connections that are carried as bytes.
    """

    __slots__ = ("_names", "_relays")

    def __init__(self, names: Callable[[EntryPoint], Asking], relays: RelayMaker) -> None:
        self._names = names
        self._relays = relays

    def choice(self, entry_point: EntryPoint, hello: Hello) -> Choice:
        """What becomes of a connection that began with `hello`. None: HTTP is spoken."""
        if not self._relays.relays_at(entry_point):
            return None
        if not hello.is_whole:
            return None if entry_point.is_secure else UNROUTED
        return self._relays.choice(entry_point, hello.server_name)

    def names_for(self, entry_point: EntryPoint, choice: Choice) -> Asking:
        """What is known of the handshake of a connection."""
        return self._names(entry_point) if choice is None else self._relays.names(entry_point)


def speaks(hello: Hello, http2: bool) -> bool:
    """Whether a client speaks a version of HTTP that is spoken here, as far as it says (ALPN)."""
    return not hello.protocols or not _SPOKEN[http2].isdisjoint(hello.protocols)


def context_for(names: Asking, hello: Hello) -> ssl.SSLContext:
    """The context with which the handshake of a client begins."""
    tls = names.context_for(hello.server_name) if names.asks else None
    return tls or names.beginning_for(hello.server_name)
