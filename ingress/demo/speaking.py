"""Carries one HTTP/2 connection of the demo without TLS: bytes to the engine, its events to whoever made it.

Owns the transport and the order of reading and writing. Does not know what the streams are for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from balancer.http2.engines import make_engine
from balancer.http2.events import DATA, EngineLimits, Event


class DemoConnection(asyncio.Protocol):
    """A connection in the `role` of CLIENT or SERVER.

    `take` gets it with each event of the engine, `lost` gets it at its end. The bytes of bodies are given back here.
    `take` may call the engine; who calls it at another time calls `flush` afterwards.
    """

    def __init__(
        self,
        role: bool,
        *,
        take: Callable[[DemoConnection, Event], None],
        lost: Callable[[DemoConnection], None],
    ) -> None:
        self.engine = make_engine(role, EngineLimits())
        self.transport: asyncio.Transport | None = None
        self._take = take
        self._lost = lost

    def close(self) -> None:
        """Closes the connection after what is queued has been written."""
        if self.transport is not None:
            self.transport.close()

    def flush(self) -> None:
        """Writes what the engine has queued, and tells the events that this causes."""
        data = self.engine.take_bytes()
        if data and self.transport is not None:
            self.transport.write(data)
        self._tell(self.engine.take_events())

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.flush()

    def data_received(self, data: bytes) -> None:
        self._tell(self.engine.receive(data, asyncio.get_running_loop().time()))
        self.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost(self)

    def _tell(self, events: list[Event]) -> None:
        for event in events:
            if event[0] == DATA:
                self.engine.received(event[1], len(event[2]))
            self._take(self, event)
