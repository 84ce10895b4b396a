"""Sends one copy of a request over HTTP/2, on a connection of its own, and waits for its end.

What comes back is counted against the windows of the connection and forgotten. Who gets copies, and how many leave at
once, is decided elsewhere.
"""

from __future__ import annotations

import asyncio
from typing import cast
from urllib.parse import urlsplit

from balancer.connections.endpoint_contexts import EndpointContexts
from balancer.connections.endpoint_tls import endpoint_name
from balancer.http.grpc import is_call
from balancer.http.messages import Fields
from balancer.http2.engine import CLIENT
from balancer.http2.engines import make_engine
from balancer.http2.events import CLOSED, DATA, FAULT, EngineLimits, Event
from balancer.matching.gates.external_auth.requests import AuthRequest


async def send_over_http2(copy: AuthRequest, contexts: EndpointContexts) -> None:
    """Sends `copy` and returns at the end of its answer. Raises OSError if there is none. Waits without a bound."""
    place, tls = urlsplit(f"//{copy.authority}"), copy.tls
    host = place.hostname or ""
    transport, sender = await asyncio.get_running_loop().create_connection(
        lambda: _CopyExchange(copy),
        host,
        place.port or 0,
        ssl=await contexts.of(copy.tenant, tls, http2=True) if tls else None,
        server_hostname=endpoint_name(tls, host) if tls else None,
    )
    try:
        await sender.ended
    finally:
        transport.abort()


class _CopyExchange(asyncio.Protocol):
    """One request on a connection of its own. `ended` fails if the connection ends before the answer does."""

    def __init__(self, copy: AuthRequest) -> None:
        self._copy = copy
        self._engine = make_engine(CLIENT, EngineLimits())
        self._transport: asyncio.Transport | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are not of this class
        body = self._copy.body
        stream = self._engine.request(_fields_of(self._copy), not body)
        if body:
            self._engine.data(stream, body, True)
        self._flush()

    def data_received(self, data: bytes) -> None:
        for event in self._engine.receive(data, asyncio.get_running_loop().time()):
            self._take(event)
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(ConnectionError("the endpoint closed the connection"))

    def _flush(self) -> None:
        if self._transport is not None and (data := self._engine.take_bytes()):
            self._transport.write(data)
        for event in self._engine.take_events():
            self._take(event)

    def _take(self, event: Event) -> None:
        if event[0] == DATA:
            self._engine.received(event[1], len(event[2]))
        elif event[0] == CLOSED:
            self._end(None)
        elif event[0] == FAULT:
            self._end(ConnectionError("the endpoint broke the protocol"))

    def _end(self, problem: OSError | None) -> None:
        if self.ended.done():
            return
        if problem is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(problem)


def _fields_of(copy: AuthRequest) -> Fields:
    pseudo = (
        (b":method", copy.method.encode("ascii")),
        (b":scheme", copy.scheme.encode("ascii")),
        (b":authority", copy.host),
        (b":path", copy.target),
    )
    fields = tuple((name.lower(), value) for name, value in copy.fields)
    if is_call(fields):
        fields = (*fields, (b"te", b"trailers"))
    return (*pseudo, *fields)
