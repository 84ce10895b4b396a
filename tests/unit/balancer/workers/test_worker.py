"""One worker on real sockets: it serves the newest publication, says what is connected, and drains in order."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from balancer.connections.listeners import listen, port_of
from balancer.connections.tls import self_signed
from balancer.http1.connection import ClientConnection
from balancer.logs.accesslines import AccessLogFormat
from balancer.logs.accesslog import AccessLog
from balancer.metrics.recorder import Recorder
from balancer.metrics.slots import MINIMUM_BYTES, SlotTable
from balancer.model.endpoints import Backend, BackendKey, Endpoint
from balancer.model.publication import Publication, RoutingModel
from balancer.model.routes import Host
from balancer.workers.worker import USUAL_TIMES, Worker, WorkerTimes
from tests import builders as build
from tests.fakes.backends import EchoEndpoint, echoing
from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.features.faults.crowds import closing, crowd
from tests.integration.wire import Connection, get, trusting

pytestmark = pytest.mark.large

KEY = BackendKey("shop/cart:80")
_NO_DESCRIPTOR = -1  # the access log is off
NO_GRACE = WorkerTimes(idle_grace_seconds=0.0)
"""Every idle connection has rested for long enough."""


def model(*endpoints: EchoEndpoint | ScriptedEndpoint, host: str = "shop.test") -> RoutingModel:
    """One host whose root leads to these endpoints."""
    route = build.route(to=KEY)
    addresses = sorted(Endpoint("127.0.0.1", endpoint.port) for endpoint in endpoints)
    backend = Backend(key=KEY, namespace="shop", service="cart", port="80", endpoints=tuple(addresses))
    return RoutingModel(hosts=(Host(name=host, routes=(route,)),), backends=(backend,))


class Scene:
    """A worker that listens, and one endpoint before which it stands."""

    def __init__(self, worker: Worker, ports: tuple[int, int], endpoint: EchoEndpoint) -> None:
        self.worker = worker
        self.port, self.secure_port = ports
        self.endpoint = endpoint


@asynccontextmanager
async def serving(times: WorkerTimes = USUAL_TIMES) -> AsyncIterator[Scene]:
    recorder = Recorder(SlotTable(bytearray(MINIMUM_BYTES)))
    log = AccessLog(_NO_DESCRIPTOR, AccessLogFormat.OFF, recorder.access_log_dropped)
    worker = Worker(recorder=recorder, access_log=log, fallback=self_signed(), times=times)
    http, https = listen("127.0.0.1", 0), listen("127.0.0.1", 0)
    await worker.listen({"http": http, "https": https})
    async with echoing("cart", {"zone-a": 1}) as (endpoint,):
        worker.swap(Publication(1, model(endpoint)))
        yield Scene(worker, (port_of(http), port_of(https)), endpoint)
        endpoint.gate.set()
        await worker.stop()


async def until(is_so: Callable[[], Awaitable[bool] | bool]) -> None:
    async with asyncio.timeout(30):
        while not (so if isinstance(so := is_so(), bool) else await so):  # noqa: ASYNC110 (any state may be asked for)
            await asyncio.sleep(0.005)


async def refuses(port: int) -> bool:
    try:
        (await Connection.open(port)).close()
    except ConnectionError:
        return True
    return False


_LAST = b"GET / HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(("secure", "count"), [(False, 2000), (True, 100)])
async def test_nothing_is_left_of_connections_that_have_ended(secure: bool, count: int) -> None:
    """And nothing of it waits for the garbage collector, which costs more the more there is."""
    async with serving() as scene:
        port = scene.secure_port if secure else scene.port
        await asyncio.to_thread(_ask_and_close, port, secure, count=10)  # what is made once is made
        gc.collect()  # what tests before left to the garbage collector is not of this test
        await until(lambda: not _ours(ClientConnection))
        before = len(_ours())
        gc.disable()
        try:
            await asyncio.to_thread(_ask_and_close, port, secure, count=count)
            await until(lambda: not _ours(ClientConnection))
            assert len(_ours()) < before + 10
        finally:
            gc.enable()


def _ask_and_close(port: int, secure: bool, *, count: int) -> None:
    context = trusting()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for _ in range(count):
        plain = socket.create_connection(("127.0.0.1", port), timeout=10)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with context.wrap_socket(plain) if secure else plain as connection:
            connection.sendall(_LAST)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")


def _ours(kind: type = object) -> list[object]:
    """The living objects of this project of that kind, but for closed sockets, which asyncio's transports keep."""
    living = (each for each in gc.get_objects() if isinstance(each, kind) and not isinstance(each, socket.socket))
    return [each for each in living if str(type(each).__module__).startswith("balancer.")]


async def test_the_newest_publication_is_served_also_on_open_connections() -> None:
    async with serving() as scene, await Connection.open(scene.port) as connection:
        assert (await connection.get("shop.test")).status == 200
        scene.worker.swap(Publication(2, model(scene.endpoint, host="new.test")))
        assert (await connection.get("shop.test")).status == 404
        assert (await connection.get("new.test")).status == 200


async def test_connections_are_counted_by_side_and_state() -> None:
    async with serving() as scene:
        http2 = {"http2_connections": 0, "http2_streams": 0}
        states = ("client_active", "client_idle", "endpoint_active", "endpoint_idle")
        assert scene.worker.connections() == dict.fromkeys(states, 0) | http2
        async with await Connection.open(scene.port) as idle, await Connection.open(scene.port) as busy:
            await idle.get("shop.test")
            waiting = asyncio.create_task(busy.get("shop.test", "/gated"))
            await until(lambda: scene.endpoint.waiting == 1)
            expected = {"client_active": 1, "client_idle": 1, "endpoint_active": 1, "endpoint_idle": 0}
            assert scene.worker.connections() == expected | http2
            scene.endpoint.gate.set()
            assert (await waiting).status == 200
            expected = {"client_active": 0, "client_idle": 2, "endpoint_active": 0, "endpoint_idle": 1}
            await until(lambda: scene.worker.connections() == expected | http2)
        await until(lambda: scene.worker.connections()["client_idle"] == 0)


async def test_idle_connections_to_an_endpoint_that_left_are_closed() -> None:
    async with serving() as scene:
        assert (await get(scene.port, "shop.test")).status == 200
        assert scene.worker.connections()["endpoint_idle"] == 1
        scene.worker.swap(Publication(2, model()))
        await until(lambda: scene.worker.connections()["endpoint_idle"] == 0)
        assert (await get(scene.port, "shop.test")).status == 503


async def test_a_request_in_flight_survives_the_departure_of_its_endpoint() -> None:
    async with serving() as scene:
        waiting = asyncio.create_task(get(scene.port, "shop.test", "/gated"))
        await until(lambda: scene.endpoint.waiting == 1)
        scene.worker.swap(Publication(2, model()))
        scene.endpoint.gate.set()
        assert (await waiting).status == 200
        await until(lambda: scene.worker.connections()["endpoint_active"] == 0)


async def test_draining_goes_on_accepting_through_the_grace_then_finishes_what_is_in_flight() -> None:
    async with serving() as scene:
        waiting = asyncio.create_task(get(scene.port, "shop.test", "/gated"))
        await until(lambda: scene.endpoint.waiting == 1)
        draining = asyncio.create_task(scene.worker.drain(grace_seconds=0.2, limit_seconds=30.0))
        await asyncio.sleep(0)
        during_grace = await get(scene.port, "shop.test")
        assert (during_grace.status, during_grace.ends_connection) == (200, True)
        await until(lambda: refuses(scene.port))
        assert not draining.done()
        scene.endpoint.gate.set()
        assert (await waiting).status == 200
        async with asyncio.timeout(30):
            await draining
        assert scene.worker.connections()["client_active"] == 0


async def test_an_answer_that_begins_while_draining_is_the_last_even_if_its_request_came_before() -> None:
    async with serving() as scene:
        waiting = asyncio.create_task(get(scene.port, "shop.test", "/gated"))
        await until(lambda: scene.endpoint.waiting == 1)
        draining = asyncio.create_task(scene.worker.drain(grace_seconds=0.0, limit_seconds=30.0))
        await asyncio.sleep(0)
        scene.endpoint.gate.set()
        assert (await waiting).ends_connection
        await draining


async def test_a_connection_that_rests_but_briefly_may_send_a_request_after_the_grace() -> None:
    async with serving() as scene, await Connection.open(scene.port) as connection:
        assert not (await connection.get("shop.test")).ends_connection
        draining = asyncio.create_task(scene.worker.drain(grace_seconds=0.0, limit_seconds=30.0))
        await until(lambda: refuses(scene.port))
        last = await connection.get("shop.test")
        assert (last.status, last.ends_connection) == (200, True)
        connection.close()
        await draining


@pytest.mark.parametrize("turns", [pytest.param(0, id="read by the proxy"), pytest.param(1, id="still in the kernel")])
async def test_a_request_that_came_just_before_its_idle_connection_is_closed_gets_its_answer(
    turns: int,
) -> None:
    async with serving(NO_GRACE) as scene, RawClient(scene.port) as client:
        request = b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n"
        assert (await client.ask(request)).status == 200
        await until(lambda: scene.worker.connections()["client_idle"] == 1)
        draining = asyncio.create_task(scene.worker.drain(grace_seconds=0.0, limit_seconds=30.0))
        # Connections are first closed in the second turn of the drain. What is sent now is in the kernel at
        # once; the proxy reads it in this turn, or in the next one after the drain has looked.
        for _ in range(turns):
            await asyncio.sleep(0)
        client.send(request)
        last = await client.response()
        assert (last.status, last.fields[b"connection"]) == (200, b"close")
        client.finish_sending()
        async with asyncio.timeout(30):
            await draining


async def test_a_crowd_of_idle_connections_is_closed_over_many_turns_of_the_loop() -> None:
    count = 300
    async with serving(NO_GRACE) as scene:
        with closing(await crowd(scene.port, count)):
            await until(lambda: scene.worker.connections()["client_idle"] == count)
            draining = asyncio.create_task(scene.worker.drain(grace_seconds=0.0, limit_seconds=30.0))
            left = [count]
            while left[-1]:
                await asyncio.sleep(0)  # one turn
                left.append(scene.worker.connections()["client_idle"])
        await draining
    assert max(before - after for before, after in pairwise(left)) <= count / 3


async def goodbye(visit: Visit) -> None:
    """Switch protocols, and have a last word once the other side has no more to say."""
    await visit.head()
    await visit.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    await visit.rest()
    await visit.send(b"goodbye")


async def test_tunnels_end_last_and_the_endpoint_has_the_last_word() -> None:
    async with serving() as scene, ScriptedEndpoint(goodbye) as endpoint, RawClient(scene.port) as client:
        scene.worker.swap(Publication(2, model(endpoint)))
        client.send(b"GET / HTTP/1.1\r\nHost: shop.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        assert b" 101 " in await client.head()
        draining = asyncio.create_task(scene.worker.drain(grace_seconds=0.0, limit_seconds=0.8))
        client.send(b"still here")
        await until(lambda: endpoint.visits[0].received.endswith(b"still here"))
        assert await client.rest() == b"goodbye"
        client.finish_sending()
        await draining


async def test_draining_cuts_what_is_left_at_the_limit() -> None:
    async with serving() as scene:
        waiting = asyncio.create_task(get(scene.port, "shop.test", "/gated"))
        await until(lambda: scene.endpoint.waiting == 1)
        async with asyncio.timeout(30):
            await scene.worker.drain(grace_seconds=0.0, limit_seconds=0.05)
        with pytest.raises((ConnectionError, EOFError)):
            await waiting
        assert scene.worker.connections()["endpoint_active"] == 0


async def test_stopping_cuts_at_once_and_may_be_repeated() -> None:
    async with serving() as scene, await Connection.open(scene.port) as connection:
        assert (await connection.get("shop.test")).status == 200
        await scene.worker.stop()
        await scene.worker.stop()
        assert await refuses(scene.port)
        with pytest.raises((ConnectionError, EOFError)):
            await connection.get("shop.test")
