"""Carries TLS of clients on top of plain TCP of our own, from the end of the handshake on.

Asks OpenSSL only for what can be had: a read in vain costs as much as a read. Encrypts in pieces of bounded size, so
that the buffers of a connection stay small. Does not know certificates, nor what the bytes mean.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Any, Protocol

from balancer.runtime.deadlines import NEVER, Deadlines, Watched
from balancer.runtime.reading import PIECE, ReadsPieces
from balancer.runtime.tcp import TcpTransport
from balancer.runtime.tls_sessions import TlsSession

GOODBYE_SECONDS = 30.0
"""For a peer to take what was written and to say goodbye; as many as uvloop gives."""

_OPEN, _ENDING, _ENDED = range(3)
_ENCRYPTED_AT_ONCE = 32 * 1024
_NOBODY = ReadsPieces()  # in place of the protocol of a connection that is lost


class Secured(Protocol):
    """The protocol of a connection when its handshake is over. It may give its place to another one."""

    def connection_made(self, transport: TlsTransport, /) -> None:
        """The handshake is over."""

    def connection_lost(self, exc: Exception | None, /) -> None:
        """The connection has ended, and nobody else has become its protocol."""


class TlsTransport:
    """The server side of a connection, with the methods of `asyncio.Transport` that zonal calls.

    To `TcpTransport` this is a protocol.
    """

    __slots__ = (
        "_deadlines",
        "_goodbye_seconds",
        "_has_said_goodbye",
        "_is_full",
        "_is_held",
        "_is_reading",
        "_is_told",
        "_loop",
        "_phase",
        "_protocol",
        "_tcp",
        "_tls",
        "_unwritten",
        "closed",
        "deadline",
        "next_look",
        "place",
    )

    _protocol: Any  # of asyncio.BufferedProtocol from the end of `open` on

    def __init__(  # noqa: PLR0917 -- compiled calls have no names
        self,
        protocol: asyncio.BaseProtocol | Secured,
        session: TlsSession,
        tcp: TcpTransport,
        deadlines: Deadlines,
        is_full: bool = False,
        goodbye_seconds: float = GOODBYE_SECONDS,
    ) -> None:
        """`session` has shaken hands over `tcp`. `is_full`: that has called `pause_writing`.

        A connection that ends is cut after `goodbye_seconds`.
        """
        self._protocol = protocol
        self._tls = session
        self._tcp = tcp
        self._deadlines = deadlines
        self._loop = deadlines.loop
        self._goodbye_seconds = goodbye_seconds
        self._phase = _OPEN
        self._unwritten: list[bytes] = []
        self._is_reading = True
        self._has_said_goodbye = False
        self._is_full = is_full
        self._is_held = False
        self._is_told = False
        self.closed = False
        self.deadline = NEVER
        self.next_look = NEVER
        self.place: dict[Watched, None] | None = None

    def open(self) -> None:
        """Tells the protocol of the connection, and hands on what has come with the end of the handshake."""
        protocol = self._protocol
        protocol.connection_made(self)
        self._tell()
        self._go_on()

    # What the protocol calls.

    def write(self, data: bytes) -> None:
        """Sends `data`, as soon as the kernel takes them. A transport that closes drops them."""
        if self._phase == _OPEN and data:
            unwritten = self._unwritten
            if unwritten or not self._encrypt(data):
                unwritten.append(data)
                self._tell()

    def pause_reading(self) -> None:
        self._is_reading = False
        tcp = self._tcp
        tcp.pause_reading()

    def resume_reading(self) -> None:
        if not self._is_reading:
            self._is_reading = True
            self._loop.call_soon(self._read_on)

    def set_write_buffer_limits(self, high: int, low: int) -> None:
        """`pause_writing` is called above `high` unsent bytes, and then `resume_writing` at `low`."""
        tcp = self._tcp
        tcp.set_write_buffer_limits(high, low)

    def can_write_eof(self) -> bool:
        """Whoever ends the stream to a peer here reads no more of the peer (RFC 5246 7.2.1)."""
        return False

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """From now on `protocol` is told in place of the former one."""
        self._protocol = protocol

    def get_write_buffer_size(self) -> int:
        """The bytes that the kernel did not take yet, and those that wait to be encrypted."""
        tcp = self._tcp
        return tcp.get_write_buffer_size() + sum(map(len, self._unwritten))

    def is_closing(self) -> bool:
        if self._phase >= _ENDING:
            return True
        tcp = self._tcp
        return tcp.is_closing()

    def close(self) -> None:
        """Says goodbye behind what was written, and ends the connection when the peer has done so too."""
        if self._phase == _OPEN:
            self._phase = _ENDING
            if not self._is_reading:
                self._is_reading = True
                self._loop.call_soon(self._read_on)
            self._limit_end()
            self._end()

    def close_at_once(self) -> None:
        """`close` for a peer that expects the end and has no more to say: its goodbye is not waited for.

        If anything of it is unread, that is waited for as ever. To close then would cut off what was written.
        """
        session, tcp = self._tls, self._tcp
        if self._phase != _OPEN or self._unwritten or session.has_input() or tcp.has_unread():
            self.close()
            return
        self._phase = _ENDING
        self._has_said_goodbye = True
        try:
            session.say_goodbye()
        except ssl.SSLError:
            self._fail()
            return
        self._flush()
        tcp.close()
        tcp.send()  # the goodbye with the end of the answer, and FIN with both
        if tcp.get_write_buffer_size():
            self._limit_end()

    def abort(self) -> None:
        """Ends the connection and drops what was not sent."""
        self._phase = _ENDED
        tcp = self._tcp
        tcp.abort()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """`ssl_object`, and what the transport below tells."""
        if name == "ssl_object":
            return self._tls.ssl_object
        tcp = self._tcp
        return tcp.get_extra_info(name, default)

    # What others call: the wheel of deadlines, and the transport below.

    def expire(self) -> None:
        """The end of the connection has taken too long."""
        self.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        return PIECE

    def buffer_updated(self, nbytes: int) -> None:
        session = self._tls
        session.hear(nbytes)
        self._go_on()

    def eof_received(self) -> bool:
        """An end without goodbye is no orderly one, so the protocol hears of it as of a connection that is lost."""
        if self._phase == _OPEN:
            self._phase = _ENDING
            self._limit_end()  # bytes may wait for a peer that reads no more
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._phase = _ENDED
        protocol = self._protocol
        self._protocol = _NOBODY
        self._unwritten.clear()
        self.closed = True
        deadlines = self._deadlines
        deadlines.forget(self)
        protocol.connection_lost(exc)

    def pause_writing(self) -> None:
        self._is_full = True
        self._tell()

    def resume_writing(self) -> None:
        self._is_full = False
        if self._is_held:
            self._is_held = False
            if self._is_reading:
                self._loop.call_soon(self._read_on)
        self._tell()

    # Steps.

    def _read_on(self) -> None:
        if self._is_reading and not self._is_held:
            tcp = self._tcp
            tcp.resume_reading()
            self._go_on()

    def _go_on(self) -> None:
        """Does what can be done with the bytes that have come."""
        if self._phase == _OPEN:
            self._hand_on()
        elif self._phase == _ENDING:
            self._end()

    def _limit_end(self) -> None:
        deadlines = self._deadlines
        deadlines.arm(self, self._loop.time() + self._goodbye_seconds)

    def _hand_on(self) -> None:
        """Hands on what can be decrypted."""
        session = self._tls
        more = session.has_input()
        while more and self._is_reading and self._phase == _OPEN:
            protocol = self._protocol
            size, count, is_at_end = len(protocol.get_buffer(-1)), 0, False
            try:
                while more and count < size:
                    got = session.read_into(count, size - count)
                    if got <= 0:
                        is_at_end, more = got == 0, False
                        break
                    count += got
                    more = session.has_input()
            except ssl.SSLError:
                self._fail()
                return
            if count:
                protocol.buffer_updated(count)
            if is_at_end:
                self._end_input()
        if self._unwritten:
            self._write_rest()
        if session.has_output():
            self._flush_or_hold()

    def _end_input(self) -> None:
        """The peer has said goodbye."""
        if self._phase == _OPEN:
            protocol = self._protocol
            protocol.eof_received()
            self.close()

    def _encrypt(self, data: bytes) -> bool:
        """Sends `data`. False: OpenSSL first wants the rest of a message of the peer."""
        session, size, start = self._tls, len(data), 0
        try:
            while start < size:
                count = session.encrypt(data, start, min(size - start, _ENCRYPTED_AT_ONCE))
                if count < 0:
                    return False
                start += count
                self._flush()
        except ssl.SSLError:
            self._fail()
        return True

    def _write_rest(self) -> None:
        unwritten = self._unwritten
        while unwritten and self._encrypt(unwritten[0]):
            del unwritten[0]
        self._tell()

    def _flush(self) -> None:
        session, tcp = self._tls, self._tcp
        data = session.take()
        if data:
            tcp.write(data)

    def _flush_or_hold(self) -> None:
        """Sends what OpenSSL says on its own. A peer that makes it say more, but does not read, has to wait."""
        self._flush()
        if self._is_full:
            self._is_held = True
            tcp = self._tcp
            tcp.pause_reading()

    def _fail(self) -> None:
        """Ends the connection for a mistake of the peer, and tells it as far as the kernel takes that at once."""
        self._flush()
        tcp = self._tcp
        tcp.send()
        self.abort()

    def _tell(self) -> None:
        """Tells the protocol whether to write on."""
        waits = self._is_full or len(self._unwritten) > 0
        if waits != self._is_told and self._phase in (_OPEN, _ENDING):
            self._is_told = waits
            protocol = self._protocol
            if waits:
                protocol.pause_writing()
            else:
                protocol.resume_writing()

    def _end(self) -> None:
        """Drops what comes, and says goodbye once all was written."""
        session, tcp = self._tls, self._tcp
        try:
            is_at_end = session.drop_input()
            if self._unwritten:
                self._write_rest()
            if not self._has_said_goodbye and not self._unwritten:
                self._has_said_goodbye = True
                is_at_end = session.say_goodbye()
        except ssl.SSLError:
            self._fail()
            return
        if session.has_output():
            self._flush_or_hold()
        if is_at_end:
            tcp.close()
