"""The server side of TLS connections: what Python's ssl has, with fewer steps where event loops ask often.

Does not know certificates.
"""

from __future__ import annotations

import ssl
import time

from balancer.connections.handshake_costs import HandshakeCost, OnDear


class ListenerSession(ssl.SSLObject):
    """The server side of a connection. `chosen_by` is the name that chose the certificate.

    A resumed session of TLS 1.2 shows none: then it is the name of the handshake that made the session, whatever name
    the client sends now (SSL_get_servername(3)).
    """

    chosen_by: str | None = None
    _cost: HandshakeCost
    _incoming: ssl.MemoryBIO

    def begin(self, incoming: ssl.MemoryBIO, on_dear: OnDear) -> None:
        """Says where its bytes come from, and who hears of a dear handshake. To be called first."""
        self._incoming = incoming
        self._cost = HandshakeCost(on_dear)
        inner = self._sslobj  # type: ignore[attr-defined]
        # Event loops take these two from a session once, and then need not go through Python.
        self.pending = inner.pending  # type: ignore[method-assign]
        self.write = inner.write  # type: ignore[method-assign]

    def do_handshake(self) -> None:
        """As that of the base class, and counts what it costs."""
        started = time.thread_time()
        try:
            super().do_handshake()
        finally:
            self.took(time.thread_time() - started)

    def took(self, seconds: float) -> None:
        """A step of the handshake took so much CPU time."""
        self._cost.add(seconds, self.chosen_by)

    def read(self, len: int = 1024, buffer: bytearray | memoryview | None = None) -> bytes | int:  # type: ignore[override]
        """As that of the base class. It asks OpenSSL only if there is something to read.

        uvloop reads twice in vain to close a connection, and an error of OpenSSL takes 6,000 instructions.
        """
        if not self._incoming.pending and not self.pending():
            raise ssl.SSLWantReadError
        return super().read(len, buffer)


class ListenerContext(ssl.SSLContext):
    """Makes such sessions. `on_dear` hears of dear handshakes that begin with this context."""

    sslobject_class = ListenerSession
    on_dear: OnDear = staticmethod(lambda _: None)

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """A session between the two buffers."""
        made = super().wrap_bio(incoming, outgoing, server_side, server_hostname, session)
        assert isinstance(made, ListenerSession)
        made.begin(incoming, self.on_dear)
        return made


def resumes_another(session: object, server_name: str | None) -> bool:
    """Whether a handshake for `server_name` has resumed a session that was made for another name.

    RFC 6066 3 forbids that, but OpenSSL does so in TLS 1.2. A session of another kind resumes none.
    """
    if not isinstance(session, ListenerSession) or not session.session_reused:
        return False
    return (session.chosen_by or "").lower() != (server_name or "").lower()
