"""A whole data plane on a free loopback port: real sockets, a real live table, real metrics and a real access log."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import msgspec

from balancer.connections.arrivals import Arrival
from balancer.connections.pools import ConnectionPools
from balancer.connections.unread import Unread
from balancer.http1.client_context import ClientContext
from balancer.http1.connection import ClientConnection
from balancer.http1.endpoint import EndpointConnection
from balancer.live import LiveTable
from balancer.logs.accesslines import AccessLogFormat
from balancer.logs.accesslog import AccessLog
from balancer.metrics.kinds import Definition
from balancer.metrics.recorder import NUMBERS, ROUTE_REQUESTS, Recorder
from balancer.metrics.slots import SlotTable, read
from balancer.model.endpoints import Endpoint
from balancer.model.entry_points import HTTP
from balancer.model.policies import RoutePolicy
from balancer.model.publication import RoutingModel
from balancer.model.routes import Host
from balancer.model.settings import ProxySettings
from balancer.picking.healthlog import HealthLog
from balancer.proxy.accounting import Accounting
from balancer.proxy.forwarder import Forwarder
from balancer.proxy.serving import Proxy
from balancer.runtime.deadlines import Deadlines
from balancer.runtime.tcp import TcpTransports
from tests import builders
from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.fakes.sockets import narrow, until

NARROW_BYTES = 32 * 1024

# What may be under way where nobody reads: four kernel buffers (doubled by Linux) and two of ours, of one chunk each.
UNDER_WAY_BYTES = 4 * 2 * NARROW_BYTES + 2 * 256 * 1024 + 64 * 1024

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
GET = b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n"


def post(body: bytes = b"", *, length: int | None = None) -> bytes:
    """A POST with its length, of which `body` is sent."""
    size = len(body) if length is None else length
    return b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: %d\r\n\r\n%b" % (size, body)


async def echoes(visit: Visit) -> None:
    """Answers each body-less request with its own head."""
    while True:
        head = await visit.head()
        await visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(head), head))


def get(target: bytes, *fields: bytes, host: bytes = b"shop.test") -> bytes:
    return b"\r\n".join((b"GET %b HTTP/1.1" % target, b"Host: " + host, *fields)) + b"\r\n\r\n"


class Ledger:
    """Metrics and an access log, and what can be read of them."""

    def __init__(self) -> None:
        self._slots = bytearray(256 * 1024)
        self._pipe, self._written = os.pipe()
        self.recorder = Recorder(SlotTable(self._slots))
        self.access_log = AccessLog(self._written, AccessLogFormat.JSON, self.recorder.access_log_dropped)

    def metric(self, definition: Definition) -> dict[tuple[str, ...], float]:
        """The series of a metric and their values, of a histogram the first bucket's."""
        number = NUMBERS[definition.name]
        return {entry.key.labels: entry.values[0] for entry in read(self._slots) if entry.key.metric == number}

    def routes(self) -> dict[tuple[str, ...], tuple[float, ...]]:
        """Requests by path: those without an error of the server, and those with one."""
        return {entry.key.labels: entry.values for entry in read(self._slots) if entry.key.metric == ROUTE_REQUESTS}

    def log(self) -> list[dict[str, Any]]:
        """All lines of the access log; nothing is logged afterwards."""
        self._close()
        with os.fdopen(os.dup(self._pipe), "rb") as pipe:
            return [json.loads(line) for line in pipe]

    def release(self) -> None:
        os.close(self._pipe)  # first: a log that nobody reads would take its time to close
        self._close()

    def _close(self) -> None:
        if self._written >= 0:
            self.access_log.close(5)
            os.close(self._written)
            self._written = -1


class Standing:
    """The data plane and what a test may look at."""

    def __init__(self, ledger: Ledger, live: LiveTable | None = None) -> None:
        self.deadlines = Deadlines(asyncio.get_running_loop())
        self.live = live or LiveTable(lambda limit: 0)
        self._context = ClientContext(self.live.settings, self.deadlines, Unread(self.live.settings))
        self.pools = ConnectionPools(
            deadlines=self.deadlines, settings=self.live.settings, transports=TcpTransports(asyncio.get_running_loop())
        )
        self.proxy = Proxy(
            live=self.live,
            forwarder=Forwarder(
                pools=self.pools,
                recorder=ledger.recorder,
                health_log=HealthLog(),
                absences=self.deadlines.absences,
            ),
            accounting=Accounting(recorder=ledger.recorder, access_log=ledger.access_log),
            deadlines=self.deadlines,
        )
        self.metric = ledger.metric
        self.log = ledger.log
        self.clients: set[ClientConnection] = set()
        self.port = 0

    def publish(self, model: RoutingModel) -> None:
        self.pools.close(self.live.swap(builders.publication(self.live.view.generation + 1, model)))

    def client(self, *, buffer_bytes: int | None = None) -> RawClient:
        return RawClient(self.port, buffer_bytes=buffer_bytes)

    async def listen(self) -> asyncio.Server:
        listener = socket.socket()
        narrow(listener, NARROW_BYTES)
        listener.bind(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        return await asyncio.get_running_loop().create_server(self._accept, sock=listener)

    async def stop(self) -> None:
        for client in tuple(self.clients):
            client.abort()
        await until(lambda: not self.clients)
        self.pools.close_all()
        await until(lambda: not self.pools.open)
        self.deadlines.stop()

    def holds_back(self) -> bool:
        """Whether a connection to an endpoint takes no more of a body now."""
        return any(isinstance(each, EndpointConnection) and each.writing_paused for each in self.pools.open)

    async def idle(self) -> None:
        """Wait until no client is served, so that all that there is to count and log has been."""
        await until(lambda: all(client.idle for client in self.clients))

    def _accept(self) -> ClientConnection:
        return ClientConnection(self._context, Arrival("", None, HTTP), None, self._serve)

    def _serve(self, client: ClientConnection) -> None:
        self.clients.add(client)
        self.proxy.serve(client, lambda _: self.clients.remove(client))


def shop(
    endpoints: Iterable[ScriptedEndpoint | Endpoint],
    *,
    policy: RoutePolicy | None = None,
    settings: ProxySettings | None = None,
    hosts: Iterable[Host] | None = None,
) -> RoutingModel:
    """`shop.test` leading to one backend with `endpoints`, tried in the order of their addresses."""
    members = [
        item if isinstance(item, Endpoint) else builders.endpoint(item.address, port=item.port, zone="zone-a")
        for item in endpoints
    ]
    model = builders.model(
        builders.backend(of=members),
        hosts=hosts or [builders.host("shop.test", builders.route(policy=policy))],
    )
    return msgspec.structs.replace(model, proxy=settings or ProxySettings())


@asynccontextmanager
async def standing(model: RoutingModel, *, live: LiveTable | None = None) -> AsyncIterator[Standing]:
    """The data plane serving `model`, from `live` if that is given."""
    ledger = Ledger()
    try:
        made = Standing(ledger, live)
        made.publish(model)
        accepting = await made.listen()
        try:
            yield made
        finally:
            accepting.close()
            await made.stop()
    finally:
        ledger.release()


@contextmanager
def refusing(address: str = "127.0.0.1") -> Iterator[Endpoint]:
    """An endpoint that refuses connections, on a port that nobody else can get meanwhile."""
    with socket.socket() as unheard:
        unheard.bind((address, 0))
        yield builders.endpoint(address, port=unheard.getsockname()[1], zone="zone-a")
