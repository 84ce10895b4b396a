"""Plays one byte stream, cut into pieces, to the real connection loop and says what came of it.

The endpoint behind it reads requests by rules of its own, so that what it understood is a second opinion.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Sequence
from typing import NamedTuple, cast

import msgspec

from balancer.connections.arrivals import Arrival
from balancer.connections.pools import ConnectionPools
from balancer.connections.unread import Unread
from balancer.http.current import CurrentSettings
from balancer.http.streams import Connection
from balancer.http1.client_context import ClientContext
from balancer.http1.connection import ClientConnection
from balancer.live import LiveTable
from balancer.logs.accesslines import AccessLogFormat
from balancer.logs.accesslog import AccessLog
from balancer.metrics.recorder import Recorder
from balancer.metrics.slots import MINIMUM_BYTES, SlotTable
from balancer.model.entry_points import HTTP
from balancer.model.settings import ProxySettings
from balancer.picking.healthlog import HealthLog
from balancer.proxy.accounting import Accounting
from balancer.proxy.forwarder import Forwarder
from balancer.proxy.serving import Proxy
from balancer.runtime.deadlines import Deadlines
from balancer.runtime.tcp import TcpTransports
from tests import builders
from tests.features.fuzz.memory import MemoryLoop

_NO_DESCRIPTOR = -1  # the access log is off
_VARYING = re.compile(rb"(?<=\r\n)Date: [^\r]*\r\n|HTTP/1.1 100 Continue\r\n\r\n")
_HOSTS = ("app.test", "victim.test")


class Piece(NamedTuple):
    """Bytes that come as one read, and how many turns the loop makes before the next."""

    data: bytes
    turns: int = 0


class Request(NamedTuple):
    """A whole request as the endpoint understood it; chunks are joined, for their bounds follow the reads."""

    head: bytes
    body: bytes
    trailers: bytes


class Outcome(NamedTuple):
    """What became of a stream. `answer`: all bytes that the client got, without what may differ by the clock or by when
    the endpoint was faster. `requests`: those that reached the endpoint whole. `closed`: before the client did.
    """

    answer: bytes
    requests: tuple[Request, ...]
    closed: bool


class RecordingEndpoint(asyncio.Protocol):
    """Answers each whole request with a digest of it; an Upgrade becomes an echo."""

    def __init__(self, requests: list[Request]) -> None:
        self._requests = requests
        self._held = b""
        self._continued = self._echoes = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._echoes:
            self._transport.write(data)
            return
        self._held += data
        while not self._echoes and (request := self._next()) is not None:
            self._requests.append(request)
            self._answer(request)

    def _next(self) -> Request | None:
        head, mark, rest = self._held.partition(b"\r\n\r\n")
        if not mark:
            return None
        lower = head.lower()
        if b"\r\nexpect: 100-continue" in lower and not self._continued:
            self._continued = True
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if b"\r\ntransfer-encoding: chunked" in lower:
            parsed = _dechunked(rest)
            if parsed is None:
                return None
            body, trailers, self._held = parsed
        else:
            size = int(lower.partition(b"\r\ncontent-length: ")[2].partition(b"\r\n")[0] or 0)
            if len(rest) < size:
                return None
            body, trailers, self._held = rest[:size], b"", rest[size:]
        self._continued = False
        return Request(head, body, trailers)

    def _answer(self, request: Request) -> None:
        digest = hashlib.sha256(b"\n".join(request)).hexdigest().encode()
        if b"\r\nUpgrade: websocket" in request.head:
            self._echoes = True
            self._transport.write(
                b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + self._held
            )
        elif request.head.startswith(b"HEAD "):
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n")
        elif request.body:
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n" + digest)
        else:
            self._transport.write(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n%b\r\n0\r\n\r\n" % digest
            )


class _Client(asyncio.Protocol):
    """The far end of the client's connection: keeps what comes."""

    def __init__(self) -> None:
        self.received = b""
        self.ended = self.lost = False

    def data_received(self, data: bytes) -> None:
        self.received += data

    def eof_received(self) -> bool:
        self.ended = True
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True


class Stage:
    """A proxy on a memory loop. `play` may be called any number of times; `close` it at the end."""

    def __init__(self) -> None:
        self._requests: list[Request] = []
        self._loop = MemoryLoop(lambda: RecordingEndpoint(self._requests))
        self._loop.run_until_complete(self._build())

    def play(self, pieces: Sequence[Piece]) -> Outcome:
        """What becomes of `pieces`, after which the client closes its direction."""
        return self._loop.run_until_complete(self._play(pieces))

    def close(self) -> None:
        self._pools.close_all()
        self._deadlines.stop()
        self._loop.run_until_complete(self._loop.quiet())
        self._loop.close()

    async def _build(self) -> None:
        recorder = Recorder(SlotTable(bytearray(MINIMUM_BYTES)))
        log = AccessLog(_NO_DESCRIPTOR, AccessLogFormat.OFF, recorder.access_log_dropped)
        live = LiveTable(lambda _: 0)
        hosts = [builders.host(name, builders.route()) for name in _HOSTS]
        # A name, because connections to numeric addresses leave the event loop, and with it the network in memory.
        endpoints = [msgspec.structs.replace(each, address="endpoint.test") for each in builders.endpoints("a")]
        model = builders.model(builders.backend(of=endpoints), hosts=hosts)
        settings = msgspec.structs.replace(ProxySettings(), generate_request_id=False)  # the same bytes each time
        live.swap(builders.publication(1, msgspec.structs.replace(model, proxy=settings)))
        self._deadlines = Deadlines(self._loop)
        current = CurrentSettings(settings)
        self._context = ClientContext(current, self._deadlines, Unread(current))
        self._pools = ConnectionPools(
            deadlines=self._deadlines, settings=live.settings, transports=TcpTransports(asyncio.get_running_loop())
        )
        self._proxy = Proxy(
            live=live,
            forwarder=Forwarder(pools=self._pools, recorder=recorder, health_log=HealthLog()),
            accounting=Accounting(recorder=recorder, access_log=log),
            deadlines=self._deadlines,
        )

    async def _play(self, pieces: Sequence[Piece]) -> Outcome:
        self._requests.clear()
        served: list[Connection] = []
        connection = ClientConnection(
            self._context, Arrival("", None, HTTP), None, lambda opened: self._proxy.serve(opened, served.append)
        )
        client = _Client()
        transport = self._loop.connect(client, connection)
        for piece in pieces:
            transport.write(piece.data)
            for _ in range(piece.turns):
                await asyncio.sleep(0)
        await self._loop.quiet()
        closed = client.ended or client.lost
        transport.write_eof()
        await self._loop.quiet()
        assert served == [connection], "the client has left, and yet something waits for a deadline"
        return Outcome(_VARYING.sub(b"", client.received), tuple(self._requests), closed)


def _dechunked(data: bytes) -> tuple[bytes, bytes, bytes] | None:
    """Body, trailer lines and the rest of `data`; None while the body is not whole."""
    body = b""
    while True:
        line, mark, data = data.partition(b"\r\n")
        if not mark:
            return None
        size = int(line, 16)
        if size == 0:
            break
        if len(data) < size + 2:
            return None
        body, data = body + data[:size], data[size + 2 :]
    if data.startswith(b"\r\n"):
        return body, b"", data[2:]
    trailers, mark, rest = data.partition(b"\r\n\r\n")
    return (body, trailers, rest) if mark else None
