"""What is known of a connection before it speaks HTTP, and who stands in for its protocol until then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from balancer.connections.listener_sessions import resumes_another
from balancer.http.streams import Connection
from balancer.model.entry_points import EntryPoint
from balancer.runtime.tls import TlsTransport
from balancer.runtime.transports import agreed_protocol

_IDLE_SECONDS = 1.0  # the end of the last answer may still be on its way to the client before that


class Arriving(Protocol):
    """Who has a connection that was not handed over yet."""

    def __hash__(self) -> int:
        """Another one for each."""

    def cancel(self) -> object:
        """Ends the connection."""


def is_idle(member: Arriving | Connection, now: float) -> bool:
    """Whether nobody waits for an answer on a connection, `now` in the loop's time."""
    return not isinstance(member, Connection) or (member.idle and member.idle_since < now - _IDLE_SECONDS)


def cut(member: Arriving | Connection) -> None:
    """Ends a connection at once."""
    if isinstance(member, Connection):
        member.abort()
    else:
        member.cancel()


class Arrival:
    """What is known of a connection of an entry point. `arriving` has it until it is handed over."""

    __slots__ = ("arriving", "entry_point", "peer", "port", "server_name")

    def __init__(self, peer: str, port: int | None, entry_point: EntryPoint) -> None:
        self.peer = peer
        self.port = port
        self.entry_point = entry_point
        self.arriving: Arriving | None = None
        self.server_name: str | None = None


class ByAlpn:
    """Stands in until the handshake has chosen the version of HTTP, and then gives its place to that.

    `make` makes the protocol of an arrival; its second argument says whether that is HTTP/2. `refuse` cuts a connection
    whose handshake must not count.
    """

    __slots__ = ("_arrival", "_make", "_refuse")

    def __init__(
        self,
        arrival: Arrival,
        make: Callable[[Arrival, bool], asyncio.BufferedProtocol],
        refuse: Callable[[TlsTransport], None],
    ) -> None:
        self._arrival = arrival
        self._make = make
        self._refuse = refuse

    def connection_made(self, transport: TlsTransport) -> None:
        arrival = self._arrival
        if resumes_another(transport.get_extra_info("ssl_object"), arrival.server_name):
            self._refuse(transport)
            return
        client = self._make(arrival, agreed_protocol(transport) == "h2")  # type: ignore[arg-type]  # as it is to protocols
        transport.set_protocol(client)
        client.connection_made(transport)  # type: ignore[arg-type]

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection was refused when its handshake was over, so nobody waits for anything."""
