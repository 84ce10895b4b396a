"""Sick, slow, full and missing endpoints: what clients notice of them, with the fault matrix compressed in time.

Each request has an id, each answer of an endpoint is a hash of that and of the body that came.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

import pytest

from balancer.model.endpoints import BackendKey
from balancer.picking.backend import BackendRuntime
from balancer.picking.budget import AT_LEAST
from ingress.settings.context import TranslationContext
from tests.fakes.sockets import reset
from tests.fakes.stopwatch import Stopwatch
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import config_map, endpoint_slice, ingress, ingress_class, path, rule, service
from tests.integration.wire import Connection, Response

HOST = "shop.test"
CART = BackendKey("shop/cart:80")
_POST_BYTES = 4096

pytestmark = [pytest.mark.faults, pytest.mark.alone]

Record = Callable[[str, object], None]


class Endpoint:
    """An endpoint whose state a test changes while it serves. Paths under `/well` are for health checks."""

    def __init__(self) -> None:
        self.service = "cart"
        self.zone = None
        self.port = 0
        self.status = self.check_status = 200
        self.resets = False
        self.seconds = 0.0
        self.serves = asyncio.Event()
        self.serves.set()
        self.connections = self.requests = 0
        self.posts: Counter[bytes] = Counter()
        self._accepting: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._accepting = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._accepting.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Refuse connections, and cut those that are open."""
        if self._accepting is not None:
            self._accepting.close()
        for writer in tuple(self._open):
            writer.transport.abort()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        try:
            while not self.resets:
                await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the proxy is done with the connection
        finally:
            self._open.discard(writer)
            if self.resets:
                reset(writer)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        status, identity, body = self.check_status, head.split(b" ", 2)[1], b""
        if identity != b"/well":
            status = self.status
            self.requests += 1
            if head.startswith(b"POST "):
                body = await reader.readexactly(_POST_BYTES)
                self.posts[identity] += 1
            await asyncio.sleep(self.seconds)
            await self.serves.wait()
        writer.write(b"HTTP/1.1 %d Some\r\nContent-Length: 64\r\n\r\n%b" % (status, digest(identity, body)))


def digest(identity: bytes, body: bytes) -> bytes:
    return hashlib.sha256(identity + b" " + body).hexdigest().encode()


class Cluster:
    """Some endpoints of one Service behind a data plane."""

    def __init__(self, plane: DataPlane, endpoints: tuple[Endpoint, ...]) -> None:
        self.plane = plane
        self.endpoints = endpoints
        self.ids = itertools.count()

    @property
    def runtime(self) -> BackendRuntime:
        return self.plane.worker.live.view.backends[CART]

    @property
    def ejected(self) -> int:
        return self.runtime.health.ejected()

    @property
    def posts(self) -> Counter[bytes]:
        return sum((endpoint.posts for endpoint in self.endpoints), Counter())


@asynccontextmanager
async def cluster(count: int, **settings: str) -> AsyncIterator[Cluster]:
    async with AsyncExitStack() as stack:
        endpoints = tuple(Endpoint() for _ in range(count))
        for endpoint in endpoints:
            await endpoint.start()
            stack.push_async_callback(endpoint.stop)
        plane = await stack.enter_async_context(data_plane())
        objects = (
            config_map(ssl_redirect="false", **settings),
            ingress_class(),
            ingress("web", rule(HOST, path("/", "cart"))),
            service("cart"),
            *map(endpoint_slice, endpoints),
        )
        findings = plane.serve(objects, TranslationContext(allow_local_endpoints=True))
        assert [finding.reason for finding in findings] == ([] if endpoints else ["EndpointSliceMissing"])
        yield Cluster(plane, endpoints)


class Answer(NamedTuple):
    method: str
    response: Response
    seconds: float


async def ask(connection: Connection, number: int, *, method: str = "GET") -> Answer:
    """The answer to a request with an id of its own, which is of an endpoint that got all of it, or an error."""
    identity, body, length = f"/{number}", b"", ""
    if method == "POST":
        body, length = f"{number:0{_POST_BYTES}d}".encode(), f"Content-Length: {_POST_BYTES}\r\n"
    watch = Stopwatch()
    response = await connection.send(f"{method} {identity} HTTP/1.1\r\nHost: {HOST}\r\n{length}\r\n".encode() + body)
    answer = Answer(method, response, watch.seconds)
    assert response.status != 200 or response.body == digest(identity.encode(), body), "the answer to another request"
    return answer


async def load(cluster: Cluster, count: int, *, clients: int = 8) -> list[Answer]:
    """So many requests, every fifth a POST with an id of its own, from clients that each wait for their answer."""
    numbers = iter(range(count))
    answers: list[Answer] = []

    async def client() -> None:
        connection = await Connection.open(cluster.plane.http_port)
        try:
            for number in numbers:
                method = "POST" if number % 5 == 0 else "GET"
                answers.append(await ask(connection, next(cluster.ids), method=method))
                if answers[-1].response.ends_connection:
                    connection.close()
                    connection = await Connection.open(cluster.plane.http_port)
        finally:
            connection.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    assert all(times == 1 for times in cluster.posts.values()), "a POST ran twice"
    return answers


def statuses(answers: list[Answer]) -> set[int]:
    return {answer.response.status for answer in answers}


def p99(answers: list[Answer]) -> float:
    return sorted(answer.seconds for answer in answers)[len(answers) * 99 // 100]


async def test_u01_one_of_three_refuses_and_no_client_notices(record_property: Record, judge_times: bool) -> None:
    async with cluster(3) as shop:
        before = await load(shop, 600)
        await shop.endpoints[0].stop()
        watch = Stopwatch()
        loading = asyncio.create_task(load(shop, 600))
        while not shop.ejected:
            assert watch.within(1.0)
            await asyncio.sleep(0.002)
        record_property("ejected after seconds", watch.seconds)
        after = await loading
        record_property("p99 more in seconds", p99(after) - p99(before))
        assert statuses(after) == {200}
        assert not judge_times or p99(after) - p99(before) < 0.05
        assert shop.ejected == 1
        assert len(shop.posts) == 240


async def test_u03_one_of_three_resets_after_accept() -> None:
    async with cluster(3) as shop:
        shop.endpoints[0].resets = True
        answers = await load(shop, 600)
        assert {answer.response.status for answer in answers if answer.method == "GET"} == {200}
        # A POST whose head was written may have run, so its client is told; five failures eject.
        assert sum(answer.response.status != 200 for answer in answers) <= 5 + 8
        assert shop.ejected == 1


async def test_what_many_requests_owe_to_an_endpoint_that_dies_others_answer() -> None:
    """However many of them wait at once: the endpoint has hung up, so another attempt adds no load."""
    async with cluster(2) as shop:
        dying, other = shop.endpoints
        dying.serves.clear()
        other.serves.clear()
        connections = [await Connection.open(shop.plane.http_port) for _ in range(24)]
        asked = [asyncio.create_task(ask(connection, next(shop.ids))) for connection in connections]
        while dying.requests + other.requests < len(asked):  # noqa: ASYNC110 -- what is waited for comes over sockets
            await asyncio.sleep(0.002)
        assert dying.requests > 2 * AT_LEAST
        stopping = asyncio.create_task(dying.stop())
        other.serves.set()
        answers = await asyncio.gather(*asked)
        dying.serves.set()
        await stopping
        assert statuses(answers) == {200}
        for connection in connections:
            connection.close()


async def test_u13_an_endpoint_that_answers_500_is_left_out_and_comes_back_when_repaired(
    record_property: Record,
) -> None:
    async with cluster(10, ejection_5xx="true", ejection_time="200ms") as shop:
        sick = shop.endpoints[0]
        sick.status = 500
        while not shop.ejected:
            await load(shop, 100)
        assert sum(shop.plane.worker.left_out().values()) == 1
        before = sick.requests
        await load(shop, 1000)
        record_property("requests of 1000 to it", sick.requests - before)
        assert sick.requests - before < 0.02 * 1000
        sick.status = 200
        since_repaired = Stopwatch()
        while shop.ejected:
            await load(shop, 20)
        assert since_repaired.within(35 * 0.2 / 10 + 1)  # three times the ejection, and what the load takes
        assert statuses(await load(shop, 100)) == {200}


async def test_u14_when_all_are_sick_requests_still_reach_them() -> None:
    async with cluster(4, ejection_5xx="true", ejection_max_percent="100") as shop:
        for count, endpoint in enumerate(shop.endpoints, 1):  # one after the other: none is ejected where all are alike
            endpoint.status = 500
            async with asyncio.timeout(30):
                while shop.ejected < count:  # a client that nobody else confirms needs a second
                    assert statuses(await load(shop, 100)) <= {200, 500}
        assert statuses(await load(shop, 100)) == {500}
        assert all(endpoint.requests > 20 for endpoint in shop.endpoints)


async def test_u14_when_every_health_check_fails_requests_are_served_all_the_same() -> None:
    checks = {"health_check_path": "/well", "health_check_interval": "20ms", "health_check_threshold": "1"}
    async with cluster(4, **checks) as shop:
        for endpoint in shop.endpoints:
            endpoint.check_status = 500
        async with asyncio.timeout(30):
            while len(shop.runtime.health.impaired) < 4:  # noqa: ASYNC110 - what changes it is the clock
                await asyncio.sleep(0.01)
        assert statuses(await load(shop, 100)) == {200}


async def test_a_failing_health_check_takes_an_endpoint_out_before_any_request_fails() -> None:
    checks = {"health_check_path": "/well", "health_check_interval": "20ms", "health_check_threshold": "2"}
    async with cluster(3, **checks) as shop:
        sick = shop.endpoints[0]
        sick.check_status = sick.status = 500
        async with asyncio.timeout(30):
            while not shop.runtime.health.impaired:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert statuses(await load(shop, 100)) == {200}
        assert sick.requests == 0
        sick.check_status = sick.status = 200
        async with asyncio.timeout(30):
            while shop.runtime.health.impaired:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await load(shop, 30)
        assert sick.requests > 0


@pytest.mark.slow
@pytest.mark.parametrize("load_balance", ["least_request", "ewma"])
async def test_u15_load_moves_away_from_one_that_is_a_hundred_times_slower(
    load_balance: str, record_property: Record
) -> None:
    async with cluster(10, load_balance=load_balance) as shop:
        for endpoint in shop.endpoints:
            endpoint.seconds = 0.01
        record_property("p99 in seconds before", p99(await load(shop, 300)))
        shop.endpoints[0].seconds = 1.0  # a request of it a second: few, also where a busy machine takes long for all
        await load(shop, 300)
        before = shop.endpoints[0].requests
        seconds = p99(await load(shop, 1500))
        record_property("p99 in seconds", seconds)
        record_property("requests of 1500 to it", shop.endpoints[0].requests - before)
        assert seconds < 0.25  # fewer than one of a hundred meets the slow one


async def test_u16_what_exceeds_the_concurrency_is_answered_503_at_once_and_the_rest_is_served(
    record_property: Record,
) -> None:
    async with cluster(2, max_concurrency="20") as shop, AsyncExitStack() as stack:
        for endpoint in shop.endpoints:
            endpoint.serves.clear()
        connections = [await stack.enter_async_context(await Connection.open(shop.plane.http_port)) for _ in range(200)]
        asked = [asyncio.create_task(ask(connection, next(shop.ids))) for connection in connections]
        async with asyncio.timeout(30):
            refused = [await answer for _, answer in zip(range(180), asyncio.as_completed(asked), strict=False)]
        assert {answer.response.status for answer in refused} == {503}  # while the endpoints have answered nobody
        assert all(answer.response.field("retry-after") == "1" for answer in refused)
        record_property("slowest refusal in seconds", max(answer.seconds for answer in refused))
        for endpoint in shop.endpoints:
            endpoint.serves.set()
        answers = await asyncio.gather(*asked)
        assert Counter(answer.response.status for answer in answers) == {200: 20, 503: 180}


@pytest.mark.slow
async def test_u17_failing_endpoints_do_not_multiply_the_requests(record_property: Record) -> None:
    rate, clients = 300, 30
    async with cluster(3) as shop:
        for endpoint in shop.endpoints:
            endpoint.resets = True
        began = time.monotonic()
        requests = 0

        async def client(offset: float) -> None:
            nonlocal requests
            async with await Connection.open(shop.plane.http_port) as connection:
                for turn in range(3 * rate // clients):
                    await asyncio.sleep(max(began + offset + turn * clients / rate - time.monotonic(), 0))
                    requests += 1
                    assert (await ask(connection, next(shop.ids))).response.status == 502

        async def after_the_first_second() -> tuple[int, int]:
            await asyncio.sleep(1)  # in which the budget is spent
            return requests, attempts()

        def attempts() -> int:
            return sum(endpoint.connections for endpoint in shop.endpoints)

        then = asyncio.create_task(after_the_first_second())
        await asyncio.gather(*(client(number / rate) for number in range(clients)))
        requests_then, attempts_then = await then
        record_property("attempts a request", (attempts() - attempts_then) / (requests - requests_then))
        assert attempts() - attempts_then <= 1.25 * (requests - requests_then)


async def test_u18_without_endpoints_it_is_a_503_at_once(record_property: Record, judge_times: bool) -> None:
    async with cluster(0) as shop:
        answers = await load(shop, 200, clients=1)
        assert statuses(answers) == {503}
        record_property("p99 in seconds", p99(answers))
        assert not judge_times or p99(answers) < 0.01
