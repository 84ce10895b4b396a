"""Clients that ask at a rate, however long the answers take, and note of each answer when it came and what it was."""

from __future__ import annotations

import asyncio
import random
import time
from typing import NamedTuple, cast

from balancer.http.messages import Fields
from balancer.http2.engine import CLIENT
from balancer.http2.engines import make_engine
from balancer.http2.events import CLOSED, DATA, HEAD, TRAILERS, EngineLimits, Event
from balancer.sharing.peers import NO_OTHERS
from tests.fakes.clients import RawClient
from tests.features.zones.stage import GET, Crowd

_CALL: Fields = (
    (b":method", b"POST"),
    (b":scheme", b"http"),
    (b":authority", b"shop.test"),
    (b":path", b"/shop.Cart/Get"),
    (b"content-type", b"application/grpc"),
    (b"te", b"trailers"),
)
_CALLS_EACH = 200  # connections are renewed as those of clients are


def attackers() -> tuple[str, str]:
    """Two loopback addresses: one that a worker of this process counts together with the crowd, and one that it tells
    apart from it. Which ones these are depends on the hashes of this process.
    """
    place_of = NO_OTHERS.place_of
    crowd, others = place_of(b"127.0.0.1"), [f"127.0.0.{number}" for number in range(2, 255)]
    together = next(each for each in others if place_of(each.encode()) == crowd)
    return together, next(each for each in others if place_of(each.encode()) != crowd)


class Ended(NamedTuple):
    """When a request ended, in `time.perf_counter`'s seconds, after how many seconds, and whether it was answered."""

    at: float
    seconds: float
    is_good: bool


class SickCrowd(Crowd):
    """HTTP/1.1 clients that send `request`, from `source` if that is an address; with `chance` at random times."""

    def __init__(
        self, port: int, *, rate: float, request: bytes = GET, source: str = "", chance: random.Random | None = None
    ) -> None:
        super().__init__(port, rate=rate, chance=chance)
        self.ended: list[Ended] = []
        self._request, self._source, self._at = request, source, port
        self.free: list[RawClient] = []

    def take(self) -> RawClient | None:
        """A connection that is free, for the next request; None: another one is made."""
        return self.free.pop() if self.free else None

    async def ask(self) -> None:
        sent_at = time.perf_counter()
        try:
            is_good = await self._ask_one()
        except (OSError, EOFError):
            is_good = False
        now = time.perf_counter()
        self.ended.append(Ended(now, now - sent_at, is_good))

    async def _ask_one(self) -> bool:
        client = self.take()
        if client is None:
            client = await RawClient(self._at, source=self._source).__aenter__()
            self._made.append(client)
        response = await client.ask(self._request)
        if response.fields.get(b"connection") != b"close":
            self.free.append(client)
        return response.status == 200


class AbortingCrowd(SickCrowd):
    """HTTP/1.1 clients that begin an upload and leave in the middle of it."""

    async def _ask_one(self) -> bool:
        async with RawClient(self._at, source=self._source) as client:
            client.send(self._request)
            await asyncio.sleep(0.02)  # so that an endpoint has it
        return False


class CallingCrowd(SickCrowd):
    """gRPC clients that share a connection of HTTP/2 without TLS, which another one follows after some calls."""

    _calls: _Calls | None = None

    async def _ask_one(self) -> bool:
        if self._calls is None or not self._calls.has_room:
            loop = asyncio.get_running_loop()
            _, self._calls = await loop.create_connection(_Calls, "127.0.0.1", self._at)
        return await self._calls.call() == b"0"


class _Calls(asyncio.Protocol):
    """One connection of a gRPC client."""

    def __init__(self) -> None:
        self._engine = make_engine(CLIENT, EngineLimits())
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._begun = 0

    @property
    def has_room(self) -> bool:
        return self._begun < _CALLS_EACH and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._flush()

    def data_received(self, data: bytes) -> None:
        for event in self._engine.receive(data, 0.0):
            self._take(event)
        self._flush()
        if not self._waiting and not self.has_room:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionError())

    async def call(self) -> bytes:
        """The grpc-status of one call; empty if it ended without one."""
        self._begun += 1
        stream = self._engine.request(_CALL, True)
        waiting = self._waiting[stream] = asyncio.get_running_loop().create_future()
        self._flush()
        status: bytes = await waiting
        return status

    def _flush(self) -> None:
        if data := self._engine.take_bytes():
            self._transport.write(data)

    def _take(self, event: Event) -> None:
        kind, stream = event[0], event[1]
        if kind == DATA:
            self._engine.received(stream, len(event[2]))
        elif kind in (HEAD, TRAILERS):
            status = dict(event[2]).get(b"grpc-status")
            if status is not None:
                self._end(stream, status)
        elif kind == CLOSED:
            self._end(stream, b"")

    def _end(self, stream: int, status: bytes) -> None:
        waiting = self._waiting.pop(stream, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(status)
