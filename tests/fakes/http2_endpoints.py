"""Endpoints that speak HTTP/2 without TLS, and do to each stream what a test says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from balancer.http.messages import Fields
from balancer.http2.engine import SERVER
from balancer.http2.engines import make_engine
from balancer.http2.events import CLOSED, DATA, HEAD, RESET, TRAILERS, EngineLimits

OK: Fields = ((b":status", b"200"), (b"content-type", b"text/plain"))


class Call:
    """One request as the endpoint sees it. `resets` are the codes of the client's RST_STREAM."""

    def __init__(self, connection: Served, stream: int, fields: Fields) -> None:
        self.connection, self.stream, self.fields = connection, stream, _joined(fields)
        self.body = b""
        self.trailers: Fields = ()
        self.is_whole = self.is_closed = False
        self.resets: list[int] = []

    def answer(self, data: bytes = b"", *, fields: Fields = OK, trailers: Fields = (), ends: bool = True) -> None:
        """A response; without `ends` the stream stays open."""
        engine = self.connection.engine
        engine.respond(self.stream, fields, ends and not data and not trailers)
        if data or (ends and trailers):
            engine.data(self.stream, data, ends and not trailers)
        if ends and trailers:
            engine.trailers(self.stream, trailers)
        self.connection.flush()

    def say(self, data: bytes, *, ends: bool = False) -> None:
        self.connection.engine.data(self.stream, data, ends)
        self.connection.flush()

    def interim(self, fields: Fields) -> None:
        self.connection.engine.interim(self.stream, fields)
        self.connection.flush()

    def reset(self, code: int) -> None:
        self.connection.engine.reset(self.stream, code)
        self.connection.flush()

    def give_back(self) -> None:
        """The endpoint has taken what came of the body."""
        self.connection.engine.received(self.stream, len(self.body))
        self.connection.flush()


class Served(asyncio.Protocol):
    """A connection to the endpoint."""

    def __init__(self, endpoint: Http2Endpoint) -> None:
        self.endpoint = endpoint
        self.engine = make_engine(SERVER, EngineLimits(streams=endpoint.streams_max))
        self.calls: dict[int, Call] = {}
        self.is_closed = False
        self.at_once = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.endpoint.connections.append(self)
        if not self.endpoint.is_mute:
            self.flush()

    def data_received(self, data: bytes) -> None:
        if self.endpoint.is_mute:
            return
        for event in self.engine.receive(data, 0.0):
            self._take(event[0], event[1], event)
        self.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_closed = True

    def flush(self) -> None:
        if data := self.engine.take_bytes():
            self.transport.write(data)
        for event in self.engine.take_events():
            self._take(event[0], event[1], event)

    def goaway(self, code: int = 0) -> None:
        """The last stream is the last that came."""
        self.engine.goaway(code)
        self.flush()

    def _take(self, kind: int, stream: int, event: tuple[object, ...]) -> None:
        if kind == HEAD:
            call = self.calls[stream] = Call(self, stream, event[2])  # type: ignore[arg-type]
            self.endpoint.calls.append(call)
            self.at_once = max(self.at_once, sum(not each.is_closed for each in self.calls.values()))
            call.is_whole = bool(event[3])
        elif kind == DATA:
            call = self.calls[stream]
            call.body += event[2]  # type: ignore[operator]
            call.is_whole = bool(event[3])
            if self.endpoint.takes_bodies:
                self.engine.received(stream, len(event[2]))  # type: ignore[arg-type]
        elif kind == TRAILERS:
            call = self.calls[stream]
            call.trailers, call.is_whole = event[2], True  # type: ignore[assignment]
        elif kind == RESET:
            self.calls[stream].resets.append(event[2])  # type: ignore[arg-type]
        elif kind == CLOSED:
            self.calls[stream].is_closed = True
        if kind in (HEAD, DATA, TRAILERS) and self.calls[stream].is_whole and self.endpoint.answer is not None:
            self.endpoint.answer(self.calls[stream])


class Http2Endpoint:
    """Listens on a port of this machine. `answer` gets each whole request; None answers nothing by itself.

    `takes_bodies` False: windows are given back only by `give_back`. `is_mute`: it accepts connections and is silent.
    """

    def __init__(
        self,
        answer: Callable[[Call], None] | None = None,
        *,
        streams_max: int = 128,
        takes_bodies: bool = True,
        is_mute: bool = False,
    ) -> None:
        self.answer, self.streams_max = answer, streams_max
        self.takes_bodies, self.is_mute = takes_bodies, is_mute
        self.connections: list[Served] = []
        self.calls: list[Call] = []

    async def __aenter__(self) -> Http2Endpoint:
        self._server = await asyncio.get_running_loop().create_server(lambda: Served(self), "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for connection in self.connections:
            connection.transport.abort()
        await self._server.wait_closed()

    @property
    def open_connections(self) -> int:
        return sum(not connection.is_closed for connection in self.connections)


def _joined(fields: Fields) -> dict[bytes, bytes]:
    """The fields by name, the values of one name as one list."""
    found: dict[bytes, bytes] = {}
    for name, value in fields:
        found[name] = b", ".join((found[name], value)) if name in found else value
    return found
