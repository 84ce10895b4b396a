"""Pools of connections over one scripted endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from balancer.connections.pools import ConnectionPools
from balancer.connections.single_pools import ConnectionPool
from balancer.errors import ErrorKind
from balancer.http.consumers import ResponseConsumer
from balancer.http.current import CurrentSettings
from balancer.http.messages import ResponseHead, Trailers
from balancer.http1.endpoint import EndpointConnection
from balancer.model.endpoints import Endpoint
from balancer.model.settings import ProxySettings
from balancer.picking.members import Member
from balancer.runtime.deadlines import Deadlines
from balancer.runtime.tcp import TcpTransports
from tests.fakes.endpoints import Script, ScriptedEndpoint, answering
from tests.fakes.sockets import until
from tests.messages import outgoing

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


class Taker(ResponseConsumer):
    """Waits for the end of one response."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self.failure: ErrorKind | None = None

    def interim(self, response: ResponseHead) -> None: ...
    def switched(self, response: ResponseHead, data: bytes) -> None: ...
    def response_started(self, response: ResponseHead, data: bytes, trailers: Trailers | None) -> None:
        if trailers is not None:
            self.ended.set()

    def response_data(self, data: bytes) -> None: ...
    def response_end(self, trailers: Trailers) -> None:
        self.ended.set()

    def endpoint_failed(self, kind: ErrorKind) -> None:
        self.failure = kind
        self.ended.set()

    def endpoint_paused(self) -> None: ...
    def endpoint_resumed(self) -> None: ...


class Bench:
    """Pools over one scripted endpoint."""

    def __init__(self, endpoint: ScriptedEndpoint, settings: ProxySettings) -> None:
        self.settings = CurrentSettings(settings)
        self.endpoint = endpoint
        self.deadlines = Deadlines(asyncio.get_running_loop())
        self.pools = ConnectionPools(
            deadlines=self.deadlines, settings=self.settings, transports=TcpTransports(asyncio.get_running_loop())
        )

    def member(self, namespace: str = "") -> Member:
        return Member(Endpoint(address="127.0.0.1", port=self.endpoint.port), namespace)

    async def fresh(self, pool: ConnectionPool) -> EndpointConnection:
        return await pool.connect(5)

    async def used(self, pool: ConnectionPool) -> EndpointConnection:
        """A fresh connection after one exchange, not yet released."""
        connection, taker = await self.fresh(pool), Taker()
        connection.begin(taker, outgoing())
        await taker.ended.wait()
        return connection


@asynccontextmanager
async def bench(script: Script | None = None, **settings: float) -> AsyncIterator[Bench]:
    async with ScriptedEndpoint(script or answering(OK)) as endpoint:
        made = Bench(endpoint, msgspec.structs.replace(ProxySettings(), **settings))
        yield made
        made.pools.close_all()
        await until(lambda: not made.pools.open)
        made.deadlines.stop()
