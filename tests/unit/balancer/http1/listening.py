"""Client connections accepted on a free loopback port, with little room in the kernel, and what takes their bodies."""

from __future__ import annotations

import asyncio
import socket
from types import TracebackType
from typing import Any

import msgspec

from balancer.connections.arrivals import Arrival
from balancer.connections.unread import Unread
from balancer.errors import ErrorKind, Refusal
from balancer.http.current import CurrentSettings
from balancer.http.messages import RequestHead, Trailers
from balancer.http.streams import RequestServer, RequestStream
from balancer.http1.client_context import LINGER_SECONDS, ClientContext
from balancer.http1.connection import ClientConnection
from balancer.model.entry_points import HTTP
from balancer.model.settings import ProxySettings
from balancer.runtime.deadlines import NEVER, Deadlines, Watched
from tests.fakes.sockets import PATIENCE_SECONDS, narrow, until

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"
CHUNKED_POST = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
NARROW_BYTES = 32 * 1024


class Taker:
    """Takes a body and notes what it hears."""

    def __init__(self) -> None:
        self.body = b""
        self.size = 0
        self.trailers: Trailers | None = None
        self.refusal: ErrorKind | None = None
        self.lost = False
        self.lost_as: ErrorKind | None = None
        self.news = asyncio.Event()

    def request_data(self, data: bytes) -> None:
        self.size += len(data)
        self.body = (self.body + data)[-1000:]
        self.news.set()

    def request_end(self, trailers: Trailers) -> None:
        self.trailers = trailers
        self.news.set()

    def request_rest(self, data: bytes, trailers: Trailers) -> None:
        self.request_data(data)
        self.request_end(trailers)

    def request_failed(self, refusal: Refusal) -> None:
        self.refusal = refusal.kind
        self.news.set()

    def client_lost(self, kind: ErrorKind) -> None:
        self.lost = True
        self.lost_as = kind
        self.news.set()

    def client_paused(self) -> None:
        self.news.set()

    def client_resumed(self) -> None:
        self.news.set()

    async def until_ended(self) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while self.trailers is None and self.refusal is None and not self.lost:
                self.news.clear()
                await self.news.wait()


class Asker(RequestServer):
    """Serves a connection by handing its requests to whoever waits."""

    stream: RequestStream

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection  # as long as its asker is known, no other has its id
        self._told: asyncio.Future[RequestHead | None] = asyncio.get_running_loop().create_future()
        self.closed = asyncio.Event()

    async def next(self) -> RequestHead | None:
        told = await asyncio.shield(self._told)
        self._told = asyncio.get_running_loop().create_future()
        return told

    def request_came(self, stream: RequestStream, request: RequestHead) -> None:
        self.stream = stream
        self._told.set_result(request)

    def request_refused(self, stream: RequestStream, refusal: Refusal, request: RequestHead | None = None) -> None:
        self.stream = stream
        self._told.set_exception(refusal)

    def connection_closed(self) -> None:
        self.closed.set()
        if not self._told.done():
            self._told.set_result(None)


_askers: dict[int, Asker] = {}


async def next_request(connection: ClientConnection) -> RequestHead | None:
    """The next request of a connection, or None where none is to come. Raises its `Refusal`."""
    asker = _askers.get(id(connection))
    if asker is None:
        asker = _askers[id(connection)] = Asker(connection)
        connection.start(asker)
    elif connection.closed:
        return None
    else:
        asker.stream.detach()
        connection.next_request()
    return await asker.next()


def forget(connection: ClientConnection) -> None:
    """Lets go of a connection that was asked for requests. Otherwise it lives as long as the process."""
    _askers.pop(id(connection), None)


def stream_of(connection: ClientConnection) -> RequestStream:
    """The stream of the request that came last."""
    return _askers[id(connection)].stream


async def until_told_of_the_end(connection: ClientConnection) -> None:
    """Wait until whoever asked for requests of a connection has heard that it is gone."""
    await _askers[id(connection)].closed.wait()


class Alarm:
    """Goes off on the wheel that the connections are on."""

    closed = False

    def __init__(self) -> None:
        self.deadline = self.next_look = NEVER
        self.place: dict[Watched, None] | None = None
        self.rang = asyncio.Event()

    def expire(self) -> None:
        self.rang.set()


class Listener:
    """Accepts client connections on a free loopback port, with little room in the kernel."""

    def __init__(self, *, linger_seconds: float = LINGER_SECONDS, **settings: Any) -> None:
        self._linger_seconds = linger_seconds
        self._settings = msgspec.structs.replace(ProxySettings(), **settings)

    async def __aenter__(self) -> Listener:
        loop = asyncio.get_running_loop()
        self.deadlines = Deadlines(loop)
        settings = CurrentSettings(self._settings)
        self.unread = Unread(settings)
        self.context = ClientContext(settings, self.deadlines, self.unread, self._linger_seconds)
        self.opened: asyncio.Queue[ClientConnection] = asyncio.Queue()
        self._connections: list[ClientConnection] = []
        listener = socket.socket()
        narrow(listener, NARROW_BYTES)
        listener.bind(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        self._accepting = await loop.create_server(
            lambda: ClientConnection(self.context, Arrival("", None, HTTP), None, self._open), sock=listener
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._accepting.close()
        for connection in self._connections:
            connection.abort()
        await until(lambda: all(connection.closed for connection in self._connections))
        for connection in self._connections:
            forget(connection)
        self.deadlines.stop()

    async def after(self, seconds: float) -> None:
        """Wait until the wheel has been past every deadline up to `seconds` from now."""
        alarm = Alarm()
        self.deadlines.arm(alarm, asyncio.get_running_loop().time() + seconds)
        await alarm.rang.wait()

    def _open(self, connection: ClientConnection) -> None:
        self._connections.append(connection)
        self.opened.put_nowait(connection)
