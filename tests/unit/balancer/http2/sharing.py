"""Pools over one endpoint that speaks HTTP/2, and what takes its responses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec

from balancer.connections.pools import ConnectionPools
from balancer.connections.shared_pools import SharedPool
from balancer.errors import ErrorKind
from balancer.http.consumers import ResponseConsumer
from balancer.http.current import CurrentSettings
from balancer.http.messages import ResponseHead, Trailers
from balancer.http.streams import EndpointStream, Outgoing
from balancer.http2.endpoint import Http2EndpointConnection
from balancer.model.endpoints import Endpoint
from balancer.model.settings import ProxySettings
from balancer.picking.members import Member
from balancer.runtime.deadlines import Deadlines
from balancer.runtime.tcp import TcpTransports
from tests.fakes.http2_endpoints import Call, Http2Endpoint
from tests.fakes.sockets import PATIENCE_SECONDS, until
from tests.messages import PLAIN, request_head


def post(body: bytes | None) -> Outgoing:
    """A POST with `body`, or with one of unknown length."""
    return Outgoing(request_head(b"POST", body_bytes=None if body is None else len(body)), PLAIN)


class Taker(ResponseConsumer):
    """Takes one response, notes what it hears, and releases its stream at the end."""

    def __init__(self, stream: EndpointStream) -> None:
        self.stream = stream
        self.head: ResponseHead | None = None
        self.heard: list[str] = []
        self.interims: list[int] = []
        self.body = b""
        self.size = self.pauses = 0
        self.trailers: Trailers | None = None
        self.failure: ErrorKind | None = None
        self._ended = asyncio.Event()

    async def end(self) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._ended.wait()

    def interim(self, response: ResponseHead) -> None:
        self.interims.append(response.status)

    def response_started(self, response: ResponseHead, data: bytes, trailers: Trailers | None) -> None:
        assert self.head is None
        self.head = response
        self.heard.append("started with everything" if data and trailers else "started")
        self._add(data)
        if trailers is not None:
            self._end(trailers)

    def response_data(self, data: bytes) -> None:
        assert not self._ended.is_set()
        self.heard.append("data")
        self._add(data)

    def response_end(self, trailers: Trailers) -> None:
        self.heard.append("end")
        self._end(trailers)

    def switched(self, response: ResponseHead, data: bytes) -> None:
        raise AssertionError("HTTP/2 has no tunnels")

    def endpoint_failed(self, kind: ErrorKind) -> None:
        assert not self._ended.is_set()
        self.failure = kind
        self.stream.reset()
        self._finish()

    def endpoint_paused(self) -> None:
        self.pauses += 1

    def endpoint_resumed(self) -> None:
        self.pauses -= 1

    def take_back(self) -> None:
        """The client does not want the response any more."""
        self.stream.reset()
        self._finish()

    def _add(self, data: bytes) -> None:
        self.size += len(data)
        self.body = (self.body + data)[-1000:]

    def _end(self, trailers: Trailers) -> None:
        assert not self._ended.is_set()
        self.trailers = trailers
        self._finish()

    def _finish(self) -> None:
        self._ended.set()
        self.stream.release()


class Bed:
    """Shared pools over one endpoint."""

    def __init__(self, endpoint: Http2Endpoint, settings: ProxySettings) -> None:
        self.endpoint = endpoint
        self.deadlines = Deadlines(asyncio.get_running_loop())
        self.pools = ConnectionPools(
            deadlines=self.deadlines,
            settings=CurrentSettings(settings),
            transports=TcpTransports(asyncio.get_running_loop()),
        )
        self.member = Member(Endpoint(address="127.0.0.1", port=endpoint.port))

    @property
    def pool(self) -> SharedPool:
        return self.pools.shared(self.member)

    @property
    def connections(self) -> list[Http2EndpointConnection]:
        return [each for each in self.pools.open if isinstance(each, Http2EndpointConnection)]

    async def stream(self) -> EndpointStream:
        return self.pool.lease(True) or await self.pool.connect(PATIENCE_SECONDS)

    async def begin(self, body: bytes | None = b"") -> Taker:
        """Begins a request; with a `body` all of it is sent."""
        stream = await self.stream()
        taker = Taker(stream)
        stream.begin(taker, post(body))
        if body:
            stream.send(body)
            stream.finish(())
        return taker

    async def fill(self, connection: Http2EndpointConnection) -> list[Taker]:
        """Makes the endpoint read nothing more, and sends bodies until `connection` takes none. Their requests."""
        self.endpoint.connections[0].transport.pause_reading()
        takers = []
        while not connection.is_stuck:
            takers.append(await self.begin(None))
            takers[-1].stream.send(bytes(65_535))
            connection.flush()
        return takers


@asynccontextmanager
async def bed(
    answer: Callable[[Call], None] | None = None,
    *,
    streams_max: int = 128,
    takes_bodies: bool = True,
    **settings: float,
) -> AsyncIterator[Bed]:
    async with Http2Endpoint(answer, streams_max=streams_max, takes_bodies=takes_bodies) as endpoint:
        made = Bed(endpoint, msgspec.structs.replace(ProxySettings(), **settings))
        yield made
        made.pools.close_all()
        await until(lambda: not made.pools.open)
        assert made.pools.idle_count == 0
        made.deadlines.stop()


async def begun(made: Bed, *, body: bytes | None = b"hello") -> tuple[Taker, Call]:
    """A request that the endpoint has got, as far as it goes: `body` None leaves its end open."""
    count = len(made.endpoint.calls)
    taker = await made.begin(body)
    await until(lambda: len(made.endpoint.calls) > count and (body is None or made.endpoint.calls[count].is_whole))
    return taker, made.endpoint.calls[count]
