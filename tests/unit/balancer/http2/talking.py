"""A client's HTTP/2 connection on a free loopback port, and whoever serves its requests."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from balancer.connections.unread import Unread
from balancer.errors import ErrorKind, Refusal
from balancer.http.consumers import RequestConsumer
from balancer.http.current import CurrentSettings
from balancer.http.edits import HeadEdit
from balancer.http.messages import Fields, RequestHead, ResponseHead, Trailers
from balancer.http.streams import Connection, RequestServer, RequestStream
from balancer.http2.client import Http2Connection
from balancer.http2.flushing import Flusher
from balancer.model.entry_points import HTTP
from balancer.model.settings import ProxySettings
from balancer.runtime.deadlines import Deadlines
from tests.fakes.sockets import until
from tests.features.http2 import frames
from tests.features.http2.cases import Way, block
from tests.features.http2.peers import Peer

Pairs = list[list[str]]


def head(path: str = "/", method: str = "GET", host: str = "app.test", fields: Pairs | None = None) -> bytes:
    """The block of a request."""
    pseudo = [[":method", method], [":scheme", "https"], [":authority", host], [":path", path]]
    return block(pseudo + (fields or []))


def get(stream: int, path: str = "/", host: str = "app.test") -> bytes:
    """A request without a body, as a frame."""
    return frames.frame(frames.HEADERS, 5, stream, head(path, host=host))


def post(stream: int, fields: Pairs | None = None) -> bytes:
    """A request whose body follows."""
    return frames.frame(frames.HEADERS, 4, stream, head(method="POST", fields=fields))


def data(stream: int, octets: bytes, *, ends: bool = False) -> bytes:
    return frames.frame(frames.DATA, int(ends), stream, octets)


class Asked(RequestConsumer):
    """One request that came, and what its client did. It takes the body at once unless it is told to wait."""

    def __init__(self, stream: RequestStream, request: RequestHead | None, refused: ErrorKind | None = None) -> None:
        self.stream, self.request, self.refused = stream, request, refused
        self.body, self.events = b"", list[str]()
        self.trailers: Trailers | None = None
        self.holds, self.pieces = False, 0
        stream.attach(self)

    def answer(self, body: bytes = b"ok", fields: Fields = (), *, ends: bool = True, status: int = 200) -> None:
        """Responds with `body`, and is over if that ends the response."""
        response = ResponseHead(status, fields, len(body) if ends else None, b"")
        self.stream.respond(response, HeadEdit(), body, () if ends else None)
        if ends:
            self.stream.detach()
            self.stream.release()

    def request_data(self, data: bytes) -> None:
        self.body += data
        self.pieces += 1
        if self.holds:
            self.stream.hold()

    def request_end(self, trailers: Trailers) -> None:
        self.trailers = trailers

    def request_rest(self, data: bytes, trailers: Trailers) -> None:
        self.request_data(data)
        self.request_end(trailers)

    def request_failed(self, refusal: Refusal) -> None:
        self.events.append(refusal.kind.value)

    def client_lost(self, kind: ErrorKind) -> None:
        self.events.append(kind.value)
        self.stream.detach()
        self.stream.release()

    def client_paused(self) -> None:
        self.events.append("paused")

    def client_resumed(self) -> None:
        self.events.append("resumed")


class Server(RequestServer):
    """Keeps the requests of a connection. With `answers` on, each is answered at once; `is_mistaken`: no refusal is."""

    def __init__(self, *, answers: bool) -> None:
        self.asked: list[Asked] = []
        self.answers, self.is_closed, self.is_mistaken = answers, False, False

    def request_came(self, stream: RequestStream, request: RequestHead) -> None:
        self.asked.append(Asked(stream, request))
        if request.target == b"/mistake":
            raise RuntimeError("a mistake")
        if self.answers:
            self.asked[-1].answer()

    def request_refused(self, stream: RequestStream, refusal: Refusal, request: RequestHead | None = None) -> None:
        self.asked.append(Asked(stream, request, refusal.kind))
        if self.is_mistaken:
            raise RuntimeError("a mistake")
        self.asked[-1].answer(b"no", status=400)

    def connection_closed(self) -> None:
        self.is_closed = True


class Noted:
    """What was counted: how many requests were broken off, by kind, and the kinds of floods."""

    def __init__(self) -> None:
        self.resets = Counter[str]()
        self.floods: list[str] = []

    def http2_reset(self, kind: str, count: int = 1) -> None:
        self.resets[kind] += count

    def http2_flood(self, kind: str) -> None:
        self.floods.append(kind)


class Talk:
    """A connection from both sides: `peer` is the client."""

    def __init__(self, connection: Http2Connection, peer: Peer, server: Server, tally: Noted) -> None:
        self.connection, self.peer, self.server, self.tally = connection, peer, server, tally

    async def say(self, *parts: bytes) -> None:
        await self.peer.write_in(list(parts), Way.ONE_WRITE)

    async def asked(self, count: int = 1) -> Asked:
        """The last of `count` requests, once it came."""
        await until(lambda: len(self.server.asked) >= count)
        return self.server.asked[count - 1]

    async def answered(self, stream: int = 1) -> bytes:
        """The body of a whole answer."""
        await until(lambda: self.peer.streams[stream].ended)
        return bytes(self.peer.streams[stream].body)


@asynccontextmanager
async def talk(
    *,
    answers: bool = True,
    window: int | None = None,
    serves: frozenset[str] | None = None,
    **settings: object,
) -> AsyncIterator[Talk]:
    """A connection whose client has said its preface. `window` is that of its streams."""
    loop, tally, opened = asyncio.get_running_loop(), Noted(), list[Http2Connection]()
    deadlines, server = Deadlines(loop), Server(answers=answers)
    current = CurrentSettings(msgspec.structs.replace(ProxySettings(), **settings))

    def on_open(connection: Connection) -> None:
        connection.start(server)

    def connected() -> Http2Connection:
        opened.append(
            Http2Connection(
                settings=current,
                deadlines=deadlines,
                flusher=Flusher(loop, Unread(current)),
                entry_point=HTTP,
                on_open=on_open,
                tally=tally,
                serves=None if serves is None else serves.__contains__,
            )
        )
        return opened[-1]

    accepting = await loop.create_server(connected, "127.0.0.1", 0)
    _, peer = await loop.create_connection(Peer, "127.0.0.1", accepting.sockets[0].getsockname()[1])
    await until(lambda: bool(opened))
    talking = Talk(opened[0], peer, server, tally)
    await talking.say(frames.PREFACE, frames.settings([] if window is None else [[4, window]]))
    try:
        yield talking
    finally:
        accepting.close()
        opened[0].abort()
        if peer.transport is not None:
            peer.transport.abort()
        await until(lambda: opened[0].closed and peer.is_lost)
        deadlines.stop()
