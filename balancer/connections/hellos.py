"""Waits for the ClientHello of a connection, which stays in the socket for whoever reads it next.

Does not decide what follows from it, nor how long it may be waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from balancer.connections.arrivals import Arrival
from balancer.connections.clienthello import Hello, read_hello
from balancer.runtime.deadlines import NEVER, Watched
from balancer.runtime.tcp import TcpTransport


class AwaitedHello:
    """A connection of which nobody knows yet what its client wants. To `TcpTransport` this is a protocol that peeks.

    `come` is called with this object and what the ClientHello says; anything but a whole one offers no protocols and
    names nobody. `lost` is called if the connection ends before `settle`: with this object, and whether it was not
    cancelled. `until` is when the handshake has to be over, in the loop's time.
    """

    __slots__ = (
        "_come",
        "_has_come",
        "_is_cancelled",
        "_lost",
        "_preparing",
        "arrival",
        "closed",
        "deadline",
        "next_look",
        "place",
        "tcp",
        "until",
    )

    tcp: TcpTransport

    def __init__(
        self,
        arrival: Arrival,
        until: float,
        come: Callable[[AwaitedHello, Hello], None],
        lost: Callable[[AwaitedHello, bool], None],
    ) -> None:
        self.arrival = arrival
        self.until = until
        self._come = come
        self._lost = lost
        self._has_come = False
        self._is_cancelled = False
        self._preparing: asyncio.Task[None] | None = None
        self.closed = False
        self.deadline = NEVER
        self.next_look = NEVER
        self.place: dict[Watched, None] | None = None

    # What the owner calls.

    def wait_for(self, preparing: asyncio.Task[None]) -> None:
        """The ClientHello has come, and this task has to end before `settle`. The task ends with the connection."""
        self._preparing = preparing

    def settle(self) -> None:
        """Who gets the connection is known, or that nobody does."""
        self.closed = True

    def cancel(self) -> None:
        """Closes the connection."""
        self._is_cancelled = True
        tcp = self.tcp
        tcp.abort()

    def fail(self) -> None:
        """Closes the connection, for whose handshake something is missing."""
        tcp = self.tcp
        tcp.abort()

    # What others call: the wheel of deadlines, and the transport below.

    def expire(self) -> None:
        """The client, or what was prepared for it, has taken too long."""
        self.fail()

    def connection_made(self, tcp: TcpTransport) -> None:
        self.tcp = tcp

    def peeked(self, ahead: bytes, is_at_end: bool) -> None:
        """Looks at all that has come so far."""
        if not self._has_come:
            hello = read_hello(ahead)
            if len(ahead) >= hello.needs_bytes:
                self._has_come = True
                come = self._come
                come(self, hello)
                return
        if is_at_end:
            self.fail()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._preparing is not None:
            self._preparing.cancel()
        if not self.closed:
            self.closed = True
            lost = self._lost
            lost(self, not self._is_cancelled)
