"""Makes the demo's gRPC calls: all on one connection, as clients of gRPC do, and counts the answers.

Judges each answer only by the answer itself. Does not know phases, manifests or metrics.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from balancer.http.messages import Fields
from balancer.http2.engine import CLIENT
from balancer.http2.events import CLOSED, DATA, FAULT, HEAD, SETTINGS, TRAILERS, Event
from ingress.demo.answering import framed
from ingress.demo.cluster import CALL_PATH
from ingress.demo.speaking import DemoConnection
from ingress.demo.traffic import Traffic

# Several at a time, so that the calls of the one connection overlap.
_CALLS_AT_ONCE = 8
_EMPTY_MESSAGE = framed(b"")


class CallAnswer(msgspec.Struct):
    """What has come of the answer to a call. `fields` are those of head and trailers."""

    fields: Fields = ()
    body: bytes = b""

    def succeeded(self) -> bool:
        return (b":status", b"200") in self.fields and (b"grpc-status", b"0") in self.fields


class CallClient:
    """Calls an address over one HTTP/2 connection without TLS. It opens the connection when a call needs one."""

    __slots__ = ("_address", "_connection", "_opening", "_port", "_seconds")

    def __init__(self, address: str, port: int, *, seconds: float) -> None:
        """`seconds` bounds each call."""
        self._address = address
        self._port = port
        self._seconds = seconds
        self._connection: _Calling | None = None
        self._opening = asyncio.Lock()

    async def call(self, host: str) -> CallAnswer | None:
        """Calls the demo's method at `host` with an empty message. None: there was no whole answer."""
        try:
            async with asyncio.timeout(self._seconds):
                return await (await self._open()).call(host)
        except (OSError, TimeoutError):
            return None

    def close(self) -> None:
        """Closes the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()

    async def _open(self) -> _Calling:
        async with self._opening:
            if self._connection is None or not self._connection.takes_calls():
                if self._connection is not None:
                    self._connection.retire()
                self._connection = await _Calling.open(self._address, self._port)
                await self._connection.ready
            return self._connection


class CallTraffic(Traffic):
    """Calls through `client`. `zones` maps each expected message to its zone; any other message is a failure."""

    __slots__ = ("_client", "_host", "_zones")

    def __init__(
        self, client: CallClient, *, host: str, zones: Mapping[bytes, str], pause_seconds: float = 0.0
    ) -> None:
        super().__init__(at_once=_CALLS_AT_ONCE, pause_seconds=pause_seconds)
        self._client = client
        self._host = host
        self._zones = {framed(message): zone for message, zone in zones.items()}

    async def answering_zone(self) -> str | None:
        reply = await self._client.call(self._host)
        return self._zones.get(reply.body) if reply is not None and reply.succeeded() else None


class _Calling:
    """The calls of one connection. `ready` is done when the settings of the server have come, or it has failed."""

    __slots__ = ("_calls", "_connection", "_is_retired", "ready")

    def __init__(self) -> None:
        self._connection = DemoConnection(CLIENT, take=self._take, lost=self._lost)
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._calls: dict[int, tuple[CallAnswer, asyncio.Future[CallAnswer | None]]] = {}
        self._is_retired = False

    @classmethod
    async def open(cls, address: str, port: int) -> _Calling:
        calling = cls()
        await asyncio.get_running_loop().create_connection(lambda: calling._connection, address, port)
        return calling

    def takes_calls(self) -> bool:
        transport = self._connection.transport
        return transport is not None and not transport.is_closing() and self._connection.engine.can_request()

    def close(self) -> None:
        self._connection.close()

    def retire(self) -> None:
        """Closes the connection when its calls have ended: the server has sent GOAWAY, as zonal does now and then."""
        self._is_retired = True
        if not self._calls:
            self.close()

    async def call(self, host: str) -> CallAnswer | None:
        stream = self._connection.engine.request(_request_fields(host), False) if self.takes_calls() else 0
        if not stream:
            return None
        ended: asyncio.Future[CallAnswer | None] = asyncio.get_running_loop().create_future()
        self._calls[stream] = CallAnswer(), ended
        self._connection.engine.data(stream, _EMPTY_MESSAGE, True)
        self._connection.flush()
        return await ended

    def _take(self, _connection: DemoConnection, event: Event) -> None:
        kind = event[0]
        if kind == SETTINGS:
            _settle(self.ready, None)
        elif kind == FAULT:
            self.close()
        elif kind == CLOSED:
            reply, ended = self._calls.pop(event[1])
            _settle(ended, None if event[2] else reply)
            if self._is_retired and not self._calls:
                self.close()
        elif kind in (HEAD, TRAILERS):
            self._calls[event[1]][0].fields += event[2]
        elif kind == DATA:
            self._calls[event[1]][0].body += event[2]

    def _lost(self, _connection: DemoConnection) -> None:
        _settle(self.ready, None)
        for _, ended in self._calls.values():
            _settle(ended, None)
        self._calls.clear()


def _settle(future: asyncio.Future[CallAnswer | None] | asyncio.Future[None], value: CallAnswer | None) -> None:
    if not future.done():
        future.set_result(value)  # type: ignore[arg-type]


def _request_fields(host: str) -> Fields:
    return (
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":authority", host.encode()),
        (b":path", CALL_PATH.encode()),
        (b"content-type", b"application/grpc"),
        (b"te", b"trailers"),
    )
