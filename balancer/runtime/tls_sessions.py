"""One OpenSSL session of the server side, between a buffer of bytes that came and a buffer of bytes that are to leave.

Knows the steps that may want more bytes of the peer. Does not know where the bytes come from, nor when a step is due.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from balancer import BUILD
from balancer.runtime import calls
from balancer.runtime.reading import MEMORY, PIECE

_DROPPED_AT_ONCE = 16 * 1024
_FEW_BYTES = 1024  # up to here, a copy costs less than a view
_NATIVE = "balancer.runtime.native_tls"


class TlsSession:
    """A session with the means of Python's `ssl`, whose buffers `incoming` and `outgoing` are.

    Clear text stands in the buffer of `reading`. Methods that ask OpenSSL raise ssl.SSLError.
    """

    __slots__ = ("_pending", "_put", "_read", "_take", "_write", "incoming", "outgoing", "ssl_object")

    _put: Callable[[bytes | memoryview], int]
    _take: Callable[[], bytes]

    def __init__(self, ssl_object: Any, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO) -> None:
        self.ssl_object = ssl_object
        self.incoming = incoming
        self.outgoing = outgoing
        # What is called for each piece: a step through Python less for each.
        self._put = incoming.write
        self._take = outgoing.read
        inner = getattr(ssl_object, "_sslobj", ssl_object)  # what `ssl` wraps, without a step through Python
        self._read = inner.read
        self._write = inner.write
        self._pending = inner.pending

    def hear(self, nbytes: int) -> None:
        """The peer has sent what the first `nbytes` of the buffer of `reading` are."""
        put = self._put
        put(PIECE[:nbytes] if nbytes > _FEW_BYTES else calls.taken(MEMORY, nbytes))

    def has_input(self) -> bool:
        """Whether a read could find anything. A read in vain costs as much as a read."""
        pending = self._pending
        return self.incoming.pending > 0 or pending() > 0

    def has_output(self) -> bool:
        """Whether there is anything to take."""
        return bool(self.outgoing.pending > 0)

    def read_into(self, at: int, size: int) -> int:
        """Decrypts at most `size` bytes into the buffer of `reading`, from place `at` on, and returns how many.

        0: the peer has said goodbye. -1: more bytes of the peer are needed.
        """
        read = self._read
        try:
            count: int = read(size, PIECE[at : at + size])
        except ssl.SSLWantReadError:
            return -1
        return count

    def encrypt(self, data: bytes, start: int, size: int) -> int:
        """Encrypts `size` bytes of `data`, from place `start` on, and returns how many.

        -1: OpenSSL first wants the rest of a message of the peer. Then the same has to be asked again.
        """
        write = self._write
        try:
            count: int = write(data if size == len(data) else memoryview(data)[start : start + size])
        except ssl.SSLWantReadError:
            return -1
        return count

    def take(self) -> bytes:
        """What has to be sent to the peer, empty if there is nothing."""
        take = self._take
        return take()

    def shake(self) -> bool:
        """Goes on with the handshake. Returns whether it is over."""
        ssl_object = self.ssl_object
        try:
            ssl_object.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def drop_input(self) -> bool:
        """Drops what can be decrypted. Returns whether the peer has said goodbye."""
        while self.has_input():
            count = self.read_into(0, _DROPPED_AT_ONCE)
            if count <= 0:
                return count == 0
        return False

    def say_goodbye(self) -> bool:
        """Says goodbye. Returns whether the peer has done so, too."""
        ssl_object = self.ssl_object
        try:
            ssl_object.unwrap()
        except ssl.SSLWantReadError:
            return False
        return True


def wrapped(tls: ssl.SSLContext) -> TlsSession:
    """A session of the server side with the means of `ssl`."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    return TlsSession(tls.wrap_bio(incoming, outgoing, server_side=True), incoming, outgoing)


class SessionChoice(NamedTuple):
    """What makes sessions, and why nothing faster does: empty if nothing faster was wanted."""

    make: Callable[[ssl.SSLContext], TlsSession]
    shortfall: str


def make_session(tls: ssl.SSLContext) -> TlsSession:
    """A session of the server side. A compiled build asks OpenSSL itself."""
    return _choice().make(tls)


def shortfall() -> str:
    """Why this process asks OpenSSL by Python's `ssl`, though its build can do without; empty if it does not."""
    return _choice().shortfall


@cache
def _choice() -> SessionChoice:
    return choose(_NATIVE if BUILD else "")


def choose(module: str) -> SessionChoice:
    """What makes sessions: `make_session` of this module, if it can be imported. Empty: none is wanted."""
    try:
        return SessionChoice(import_module(module).make_session if module else wrapped, "")
    except ImportError as error:
        return SessionChoice(wrapped, str(error))
