"""Carries one HTTP/2 connection of the demo without TLS: bytes to the engine, its events to whoever made it.

Owns the transport and the order of reading and writing. Does not know what the streams are for.
"""

from __future__ import annotations

import asyncio

from balancer.http2.engines import make_engine
from balancer.http2.events import DATA, EngineLimits, Event


class DemoConnection(asyncio.Protocol):
    """A connection in the `role` of CLIENT or SERVER. Subclasses say what events mean, and call `flush` after calls of
    the engine that `take` did not make.
    """

    def __init__(self, role: bool) -> None:
        self.engine = make_engine(role, EngineLimits())
        self.transport: asyncio.Transport | None = None

    def take(self, event: Event) -> None:
        """One event of the engine. The bytes of bodies are given back by the caller."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes the connection after what is queued has been written."""
        if self.transport is not None:
            self.transport.close()

    def flush(self) -> None:
        """Writes what the engine has queued, and takes the events that this causes."""
        data = self.engine.take_bytes()
        if data and self.transport is not None:
            self.transport.write(data)
        self._take_all(self.engine.take_events())

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.flush()

    def data_received(self, data: bytes) -> None:
        self._take_all(self.engine.receive(data, asyncio.get_running_loop().time()))
        self.flush()

    def _take_all(self, events: list[Event]) -> None:
        for event in events:
            if event[0] == DATA:
                self.engine.received(event[1], len(event[2]))
            self.take(event)
