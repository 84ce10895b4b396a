"""Shakes hands over plain TCP of our own, on the side of the server, and gives its place to a transport for TLS.

Does not know certificates, nor why a session is made with one context or another.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Any

from balancer.runtime.deadlines import NEVER, Deadlines, Watched
from balancer.runtime.reading import PIECE, ReadsPieces
from balancer.runtime.tcp import TcpTransport
from balancer.runtime.tls import GOODBYE_SECONDS, Secured, TlsTransport
from balancer.runtime.tls_sessions import TlsSession, make_session

_NOBODY = ReadsPieces()  # in place of the protocol of a connection that is lost, or goes on without the handshake


class TlsHandshake:
    """The handshake of one connection. To `TcpTransport` this is a protocol.

    `protocol` is told of the connection when the handshake is over.
    """

    __slots__ = (
        "_deadlines",
        "_goodbye_seconds",
        "_is_cancelled",
        "_is_full",
        "_over",
        "_protocol",
        "_tcp",
        "_tls",
        "closed",
        "deadline",
        "next_look",
        "place",
    )

    _tls: TlsSession
    _tcp: TcpTransport

    def __init__(
        self,
        protocol: asyncio.BaseProtocol | Secured,
        over: Callable[[TlsHandshake, bool], None],
        deadlines: Deadlines,
        goodbye_seconds: float = GOODBYE_SECONDS,
    ) -> None:
        """`over` is called once after `begin`: with this handshake, and whether it failed and was not cancelled.

        A connection that ends after its handshake is cut after `goodbye_seconds`.
        """
        self._protocol: Any = protocol
        self._over = over
        self._deadlines = deadlines
        self._goodbye_seconds = goodbye_seconds
        self._is_cancelled = False
        self._is_full = False
        self.closed = False
        self.deadline = NEVER
        self.next_look = NEVER
        self.place: dict[Watched, None] | None = None

    def begin(self, tcp: TcpTransport, tls: ssl.SSLContext, until: float) -> None:
        """Takes the connection over. `read_now` goes on. The handshake may take `until` this time of the loop."""
        self._tls = make_session(tls)
        tcp.hand_to(self)  # type: ignore[arg-type]  # a compiled class has no base class that is not
        deadlines = self._deadlines
        deadlines.arm(self, until)

    def read_now(self) -> None:
        """Reads what is known to have come."""
        tcp = self._tcp
        tcp.read_now()

    def cancel(self) -> None:
        """Breaks the handshake off and closes the connection."""
        self._is_cancelled = True
        tcp = self._tcp
        tcp.abort()

    # What others call: the wheel of deadlines, and the transport below.

    def expire(self) -> None:
        """The handshake has taken too long."""
        tcp = self._tcp
        tcp.abort()

    def connection_made(self, tcp: TcpTransport) -> None:
        self._tcp = tcp

    def get_buffer(self, sizehint: int) -> memoryview:
        return PIECE

    def buffer_updated(self, nbytes: int) -> None:
        session = self._tls
        session.hear(nbytes)
        try:
            is_over = session.shake()
        except ssl.SSLError:
            self._fail()
            return
        self._flush()
        if is_over:
            self._give_place()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(not self._is_cancelled)

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False

    # Steps.

    def _flush(self) -> None:
        session, tcp = self._tls, self._tcp
        data = session.take()
        if data:
            tcp.write(data)

    def _fail(self) -> None:
        """Ends the connection for a mistake of the peer, and tells the peer as far as the kernel takes that at once."""
        self._flush()
        tcp = self._tcp
        tcp.send()
        tcp.abort()

    def _give_place(self) -> None:
        """The handshake is over, and the connection goes on with its transport."""
        protocol, tcp, deadlines = self._protocol, self._tcp, self._deadlines
        transport = TlsTransport(protocol, self._tls, tcp, deadlines, self._is_full, self._goodbye_seconds)
        tcp.set_protocol(transport)  # type: ignore[arg-type]  # as in `begin`
        self._end(False)
        transport.open()

    def _end(self, failed: bool) -> None:
        self.closed = True
        self._protocol = _NOBODY  # the former one may know who has the connection, and so this object
        deadlines, over = self._deadlines, self._over
        deadlines.forget(self)
        over(self, failed)
