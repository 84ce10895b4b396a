"""One whole request through the real data plane of one worker, between connections whose transports do nothing.

Responsible for what our own code costs, without the system and the event loop: everything from the bytes of a client
to the line of the access log. It must not know what is made of the figures.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from itertools import count

from balancer.connections.arrivals import Arrival
from balancer.connections.pools import ConnectionPools
from balancer.connections.single_pools import ConnectionPool
from balancer.connections.unread import Unread
from balancer.http.current import CurrentSettings
from balancer.http1.client_context import ClientContext
from balancer.http1.connection import ClientConnection
from balancer.http1.endpoint import EndpointConnection
from balancer.live import LiveTable
from balancer.logs.accesslines import AccessLogFormat
from balancer.logs.accesslog import AccessLog
from balancer.metrics.recorder import Recorder
from balancer.metrics.slots import SlotTable
from balancer.model.entry_points import HTTP
from balancer.model.publication import Publication, RoutingModel
from balancer.picking.healthlog import HealthLog
from balancer.proxy.accounting import Accounting
from balancer.proxy.forwarder import Forwarder
from balancer.proxy.serving import Proxy
from balancer.runtime.deadlines import Alarm, Deadlines
from balancer.runtime.tcp import TcpTransports

_BODY = b"x" * 107
_COUNTERS_BYTES = 1024 * 1024


class StillTransport(asyncio.Transport):
    """Takes what is written and sends it nowhere."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.1", 40000)})
        self.written = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written = bytes(data)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def is_closing(self) -> bool:
        return False

    def abort(self) -> None:
        pass


class Rig:
    """A proxy with one client and an idle connection to every endpoint. Made inside the running loop."""

    def __init__(self, model: RoutingModel, *, sink: int, logs: bool, response: bytes) -> None:
        """With `logs`, lines of requests are written to `sink`. `response` is the head that endpoints answer with."""
        recorder = Recorder(SlotTable(bytearray(_COUNTERS_BYTES)))
        log = AccessLog(sink, AccessLogFormat.JSON if logs else AccessLogFormat.OFF, recorder.access_log_dropped)
        live = LiveTable(lambda _: 0)
        live.swap(Publication(generation=1, model=model), time.perf_counter())
        self._deadlines = Deadlines(asyncio.get_running_loop())
        pools = ConnectionPools(
            deadlines=self._deadlines, settings=live.settings, transports=TcpTransports(asyncio.get_running_loop())
        )
        self._proxy = Proxy(
            live=live,
            forwarder=Forwarder(pools=pools, recorder=recorder, health_log=HealthLog()),
            accounting=Accounting(recorder=recorder, access_log=log),
            deadlines=self._deadlines,
        )
        self._response = response + _BODY
        (runtime,) = live.view.backends.values()
        self.pools = [pools.single(member) for member in runtime.members.values()]
        self._endpoints = [_idle_connection(pool) for pool in self.pools]
        self._transport = StillTransport()
        settings = CurrentSettings(model.proxy)
        self._context = ClientContext(settings, self._deadlines, Unread(settings))
        self.client = self.open_client(self._transport)

    def open_client(self, transport: StillTransport) -> ClientConnection:
        """A connection from a client, as far as the protocol is concerned: nobody serves it yet."""
        client = ClientConnection(self._context, Arrival("", None, HTTP), None, lambda _: None)
        client.connection_made(transport)
        return client

    def alarm(self) -> Alarm:
        """An alarm on the wheel of the connections."""
        return Alarm(self._deadlines, asyncio.get_running_loop())

    def serve(self) -> None:
        """Begin to serve the client."""
        self._proxy.serve(self.client, lambda _: None)

    def ask(self, request: bytes) -> bytes:
        """What the client gets."""
        _receive(self.client, request)
        for endpoint, transport in self._endpoints:
            if transport.written:
                transport.written = b""
                _receive(endpoint, self._response)
                break
        return self._transport.written


def numbered(request: bytes) -> Callable[[], bytes]:
    """That request with a field that is different every time, so that nothing is recognised."""
    numbers = count()
    return lambda: request[:-2] + b"X-Number: %d\r\n\r\n" % next(numbers)


def _idle_connection(pool: ConnectionPool) -> tuple[EndpointConnection, StillTransport]:
    transport = StillTransport()
    connection = EndpointConnection(pool)
    connection.connection_made(transport)
    connection.release()
    return connection, transport


def _receive(connection: ClientConnection | EndpointConnection, data: bytes) -> None:
    """As a transport does."""
    connection.get_buffer(-1)[: len(data)] = data
    connection.buffer_updated(len(data))
