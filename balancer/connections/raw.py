"""A connection whose bytes mean nothing here: one of the two ends of a relay. Does not know the other end."""

from __future__ import annotations

import asyncio
from typing import Protocol

from balancer.runtime.deadlines import NEVER, Watched
from balancer.runtime.reading import PIECE, ReadsPieces
from balancer.runtime.transports import plain_address, reset_on_close

CROWDED_PIECE = PIECE[: 4 * 1024]
"""The buffer of connections whose tenant has left much unread: what one of them may add to that."""


class RawOwner(Protocol):
    """The owner of a connection, which hears what happens on it."""

    def raw_made(self, end: RawConnection) -> None:
        """The connection can be read and written. It is not read before `resume`."""

    def raw_came(self, end: RawConnection, data: bytes) -> None:
        """Bytes came, at least one."""

    def raw_ended(self, end: RawConnection) -> None:
        """The other side will send no more."""

    def raw_lost(self, end: RawConnection, error: Exception | None) -> None:
        """The connection is gone. The last call."""

    def raw_full(self, end: RawConnection) -> None:
        """The other side does not take what was written."""

    def raw_freed(self, end: RawConnection) -> None:
        """The other side has taken everything that was written."""

    def reads_little(self) -> bool:
        """Whether little shall be read at once."""


class RawConnection(ReadsPieces):
    """One end. `is_client`: the other side of it is the client; else it is an endpoint of a backend in `namespace`.
    `carried_bytes` came so far.

    `deadline`, `next_look` and `place` are those of `runtime.deadlines.Watched`. `idle_since` is for those who keep
    connections to endpoints: this one is never idle.
    """

    __slots__ = (
        "_owner",
        "_transport",
        "carried_bytes",
        "closed",
        "deadline",
        "idle_since",
        "is_client",
        "namespace",
        "next_look",
        "place",
    )

    _transport: asyncio.Transport

    def __init__(self, owner: RawOwner, *, is_client: bool, namespace: str = "") -> None:
        self._owner = owner
        self.is_client = is_client
        self.namespace = namespace
        self.closed = False
        self.carried_bytes = 0
        self.idle_since = 0.0
        self.deadline = NEVER
        self.next_look = NEVER
        self.place: dict[Watched, None] | None = None

    # What the owner calls.

    def write(self, data: bytes) -> None:
        """Sends `data`; it is dropped once the connection closes."""
        if not self.closed:
            self._transport.write(data)

    def finish(self) -> bool:
        """Ends the stream to the other side behind what was written. False: the transport cannot do that alone."""
        if self.closed:
            return True
        if not self._transport.can_write_eof():
            return False
        self._transport.write_eof()
        return True

    def hold(self) -> None:
        """Reads no more until `resume`."""
        if not self.closed:
            self._transport.pause_reading()

    def resume(self) -> None:
        """Reads on."""
        if not self.closed:
            self._transport.resume_reading()

    def close(self) -> None:
        """Ends the connection when everything was sent."""
        if not self.closed and not self._transport.is_closing():  # asyncio's TLS breaks if it is closed twice
            self._transport.close()

    def abort(self) -> None:
        """Resets the connection. What was not sent is dropped."""
        if not self.closed:
            reset_on_close(self._transport)
            self._transport.abort()

    def local_address(self) -> tuple[str, int]:
        """The address and port on this side; empty and 0 if unknown."""
        return _place(self._transport, local=True)

    def peer_port(self) -> int:
        """The port on the other side; 0 if unknown."""
        return _place(self._transport, local=False)[1]

    @property
    def is_secure(self) -> bool:
        """Whether TLS ends here."""
        return self._transport.get_extra_info("ssl_object") is not None

    # What the transport and the wheel call.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # ours and uvloop's are not of this class
        self._transport.set_write_buffer_limits(high=1, low=0)
        self._transport.pause_reading()
        self._owner.raw_made(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return CROWDED_PIECE if self._owner.reads_little() else PIECE

    def data_received(self, data: bytes) -> None:
        self.carried_bytes += len(data)
        self._owner.raw_came(self, data)

    def eof_received(self) -> bool:
        self._owner.raw_ended(self)
        return self._transport.can_write_eof()

    def pause_writing(self) -> None:
        self._owner.raw_full(self)

    def resume_writing(self) -> None:
        self._owner.raw_freed(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._owner.raw_lost(self, exc)

    def expire(self) -> None:
        """Never called: such a connection has no deadline of its own."""


def _place(transport: asyncio.BaseTransport, *, local: bool) -> tuple[str, int]:
    connection = transport.get_extra_info("socket")
    try:
        found = connection.getsockname() if local else connection.getpeername()
    except (OSError, AttributeError):  # it is gone
        return "", 0
    return plain_address(str(found[0])), int(found[1])
