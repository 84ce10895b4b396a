"""A worker with endpoints in zones behind it, and clients that send at a rate or as fast as they are answered.

Everything from the model to the wire is real. An endpoint has slots and takes a set time for each request, so that it
queues as real ones do.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, Self, cast

import msgspec

from balancer.connections.listeners import listen, port_of
from balancer.connections.tls import self_signed
from balancer.logs.accesslines import AccessLogFormat
from balancer.logs.accesslog import AccessLog
from balancer.metrics.definitions import ZONE_DECISIONS
from balancer.metrics.recorder import NUMBERS, Recorder
from balancer.metrics.slots import MINIMUM_BYTES, SlotTable, read
from balancer.model.endpoints import Endpoint
from balancer.model.publication import Publication
from balancer.model.routes import Route
from balancer.model.settings import ProxySettings
from balancer.model.zones import OwnZone, Zone, ZoneFacts, ZonePolicy
from balancer.runtime.steps import finished
from balancer.workers.worker import Worker
from tests import builders as build
from tests.fakes.clients import RawClient

SLOTS = 4
GET = b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n"
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
_HEAD_END = b"\r\n\r\n"
_NO_DESCRIPTOR = -1  # the access log is off
_SEED = 1
_CLIENTS, _AT_ONCE = 4, 50
_KEPT_FOR = 500  # requests on one connection, which may have 1,000 by default


class ZoneEndpoint:
    """Answers every request after `seconds`, `slots` of them at once; `requests` counts them. 0 s: at once.

    `worked_seconds` is how long all of them were at work, which on a busy machine is longer than they should.
    """

    def __init__(self, zone: str, *, seconds: float = 0.0, slots: int = SLOTS) -> None:
        self.zone = zone
        self.seconds = seconds
        self.requests = 0
        self.port = 0
        self.worked_seconds = 0.0
        self._slots = slots
        self._busy = 0
        self._waiting: deque[tuple[asyncio.Transport, float]] = deque()
        self._visits: set[asyncio.Transport] = set()
        self._server: asyncio.Server | None = None

    @property
    def endpoint(self) -> Endpoint:
        return build.endpoint("127.0.0.1", port=self.port, zone=self.zone)

    async def start(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Visit(self, self._visits), "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def stop(self) -> None:
        """Cut every connection and refuse others."""
        if self._server is not None:
            self._server.close()
            for transport in tuple(self._visits):
                transport.abort()
            await self._server.wait_closed()
            self._server = None

    def take(self, transport: asyncio.Transport, head: bytes) -> None:
        """A request came. Whoever answers by what it asks for overrides this."""
        self.requests += 1
        seconds = self.seconds_of(head)
        if not seconds:
            transport.write(_ANSWER)
        elif self._busy < self._slots:
            self._work(transport, seconds)
        else:
            self._waiting.append((transport, seconds))

    def seconds_of(self, _head: bytes) -> float:
        """What a request takes. Whoever reads that from the request overrides this."""
        return self.seconds

    def _work(self, transport: asyncio.Transport, seconds: float) -> None:
        self._busy += 1
        loop = asyncio.get_running_loop()
        loop.call_later(seconds, self._done, transport, loop.time())

    def _done(self, transport: asyncio.Transport, began: float) -> None:
        self._busy -= 1
        self.worked_seconds += asyncio.get_running_loop().time() - began
        if not transport.is_closing():
            transport.write(_ANSWER)
        if self._waiting:
            self._work(*self._waiting.popleft())


class _Visit(asyncio.Protocol):
    def __init__(self, endpoint: ZoneEndpoint, visits: set[asyncio.Transport]) -> None:
        self._endpoint = endpoint
        self._visits = visits
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._visits.add(self._transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._visits.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        *heads, self._received = (self._received + data).split(_HEAD_END)
        for head in heads:
            self._endpoint.take(self._transport, head)


class Answer(NamedTuple):
    """When it came, in `time.perf_counter`'s seconds, and how long after the request."""

    came_at: float
    seconds: float


class Plane:
    """A worker that serves `shop.test` from `endpoints`, as seen from zone-a."""

    def __init__(self) -> None:
        self._table = bytearray(MINIMUM_BYTES * 16)
        recorder = Recorder(SlotTable(self._table))
        log = AccessLog(_NO_DESCRIPTOR, AccessLogFormat.OFF, recorder.access_log_dropped)
        self.worker = Worker(
            recorder=recorder,
            access_log=log,
            fallback=self_signed(),
            random_below=random.Random(_SEED).randrange,
        )
        self.port = 0
        self._generation = 0

    async def listen(self) -> None:
        http, https = listen("127.0.0.1", 0), listen("127.0.0.1", 0)
        await self.worker.listen({"http": http, "https": https})
        self.port = port_of(http)

    def serve(
        self,
        endpoints: Iterable[Endpoint],
        policy: ZonePolicy,
        *,
        facts: ZoneFacts | None = None,
        own: OwnZone | None = None,
        route: Route | None = None,
        settings: ProxySettings | None = None,
        **changes: Any,
    ) -> None:
        """`changes` are other fields of the backend."""
        backend = msgspec.structs.replace(build.backend(of=endpoints, zone_policy=policy), **changes)
        model = build.model(backend, hosts=[build.host("shop.test", route or build.route())])
        model = msgspec.structs.replace(
            model,
            zones=facts or ZoneFacts(),
            own_zone=own or model.own_zone,
            proxy=settings or model.proxy,
        )
        self._generation += 1
        self.worker.swap(Publication(self._generation, model))

    def decisions(self) -> Counter[str]:
        """How many requests there were for each reason."""
        number = NUMBERS[ZONE_DECISIONS.name]
        entries = (entry for entry in read(self._table) if entry.key.metric == number)
        return Counter({entry.key.labels[-1]: int(entry.values[0]) for entry in entries})

    def counted(self, name: str) -> int:
        """How much a counter has counted, under all of its labels."""
        number = NUMBERS[name]
        return int(sum(entry.values[0] for entry in read(self._table) if entry.key.metric == number))

    @property
    def spill_ratio(self) -> float:
        return finished(self.worker.judging()).spill_ratios["shop", "cart"]

    @property
    def overload_factor(self) -> float:
        return finished(self.worker.judging()).overload_factors["shop", "cart", Zone("zone-a")]

    async def send(self, count: int) -> Counter[int]:
        """`count` requests over kept connections, pipelined; the statuses of their answers."""
        statuses: Counter[int] = Counter()

        async def ask(share: int) -> None:
            async with RawClient(self.port) as client:
                for begin in range(0, share, _AT_ONCE):
                    some = min(_AT_ONCE, share - begin)
                    client.send(GET * some)
                    for _ in range(some):
                        statuses[(await client.response()).status] += 1

        for begin in range(0, count, _CLIENTS * _KEPT_FOR):
            async with asyncio.TaskGroup() as group:
                for number in range(_CLIENTS):
                    group.create_task(ask((min(_CLIENTS * _KEPT_FOR, count - begin) + number) // _CLIENTS))
        return statuses


@asynccontextmanager
async def planes() -> AsyncIterator[Plane]:
    """A plane that listens, stopped at the end."""
    plane = Plane()
    await plane.listen()
    try:
        yield plane
    finally:
        await plane.worker.stop()


@asynccontextmanager
async def sites(zones: str, *, seconds: float = 0.0) -> AsyncIterator[Sequence[ZoneEndpoint]]:
    """An endpoint for each letter, as `builders.endpoints`."""
    made = [ZoneEndpoint(f"zone-{letter}", seconds=seconds) for letter in zones]
    try:
        for each in made:
            await each.start()
        yield made
    finally:
        for each in made:
            await each.stop()


class Crowd:
    """Clients that ask `rate` times a second, however long the answers take. Change `rate` at will.

    `chance` None: at equal distances. Else at random ones, as clients that know nothing of each other.
    """

    def __init__(self, port: int, *, rate: float, chance: random.Random | None = None) -> None:
        self.rate = rate
        self._chance = chance
        self.answers: list[Answer] = []
        self.failures: list[str] = []
        self._port = port
        self._idle: list[RawClient] = []
        self._made: list[RawClient] = []

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[None]:
        asking = asyncio.get_running_loop().create_task(self._ask_on())
        try:
            yield
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            for client in self._made:
                await client.__aexit__(None, None, None)

    def seconds_since(self, at: float) -> list[float]:
        """How long the answers took that came since, the shortest first."""
        return sorted(answer.seconds for answer in self.answers if answer.came_at >= at)

    async def _ask_on(self) -> None:
        async with asyncio.TaskGroup() as group:
            due = time.perf_counter()
            while True:
                distance = self._chance.expovariate(self.rate) if self._chance is not None else 1.0 / self.rate
                due = max(due + distance, time.perf_counter() - 0.1)
                await asyncio.sleep(due - time.perf_counter())
                group.create_task(self.ask())

    def request(self) -> bytes:
        """The next request."""
        return GET

    async def ask(self) -> None:
        """One request, whose answer or failure is noted."""
        sent_at = time.perf_counter()
        try:
            if not self._idle:
                client = await RawClient(self._port).__aenter__()
                self._made.append(client)
            else:
                client = self._idle.pop()
            response = await client.ask(self.request())
        except (OSError, EOFError) as error:
            self.failures.append(repr(error))
            return
        if response.fields.get(b"connection") != b"close":
            self._idle.append(client)
        came_at = time.perf_counter()
        self.answers.append(Answer(came_at, came_at - sent_at))
        if response.status != 200:
            self.failures.append(f"status {response.status}")
