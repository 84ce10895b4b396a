"""One OpenSSL session of the server side, between a buffer of bytes that came and a buffer of bytes that are to leave.

Knows the steps that may want more bytes of the peer. Does not know where the bytes come from, nor when a step is due.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any

_DROPPED_AT_ONCE = 16 * 1024


class TlsSession:
    """A session, with what is asked of it for each piece as attributes: a step through Python less for each.

    `put` takes bytes of the peer, `take` gives those for it. `read`, `write` and `pending` are those of OpenSSL's
    session, which raise ssl.SSLError. `incoming.pending` and `outgoing.pending` say how many bytes wait.
    """

    __slots__ = ("incoming", "outgoing", "pending", "put", "read", "ssl_object", "take", "write")

    put: Callable[[bytes | memoryview], int]
    take: Callable[[], bytes]

    def __init__(self, tls: ssl.SSLContext) -> None:
        incoming = ssl.MemoryBIO()
        outgoing = ssl.MemoryBIO()
        self.incoming = incoming
        self.outgoing = outgoing
        ssl_object = tls.wrap_bio(incoming, outgoing, server_side=True)
        self.ssl_object = ssl_object
        self.put = incoming.write
        self.take = outgoing.read
        inner: Any = getattr(ssl_object, "_sslobj", ssl_object)  # what `ssl` wraps, without a step through Python
        self.read = inner.read
        self.write = inner.write
        self.pending = inner.pending

    def shake(self) -> bool:
        """Goes on with the handshake. Returns whether it is over. Raises ssl.SSLError."""
        ssl_object = self.ssl_object
        try:
            ssl_object.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def drop_input(self) -> bool:
        """Drops what can be decrypted. Returns whether the peer has said goodbye. Raises ssl.SSLError."""
        pending, incoming, read = self.pending, self.incoming, self.read
        try:
            while incoming.pending or pending():
                if not read(_DROPPED_AT_ONCE):
                    return True
        except ssl.SSLWantReadError:
            pass
        return False

    def say_goodbye(self) -> bool:
        """Says goodbye. Returns whether the peer has done so, too. Raises ssl.SSLError."""
        ssl_object = self.ssl_object
        try:
            ssl_object.unwrap()
        except ssl.SSLWantReadError:
            return False
        return True
