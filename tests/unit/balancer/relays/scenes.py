"""A worker that relays from one port to scripted endpoints, and what it has counted and logged."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from balancer.connections.listeners import listen, port_of
from balancer.connections.tls import self_signed
from balancer.logs.accesslines import AccessLogFormat
from balancer.logs.accesslog import AccessLog
from balancer.metrics.recorder import NUMBERS, Recorder
from balancer.metrics.slots import MINIMUM_BYTES, SlotTable, read
from balancer.model.endpoints import Backend, BackendKey, Endpoint
from balancer.model.entry_points import EntryPoint, Protocol
from balancer.model.publication import Publication, RoutingModel
from balancer.model.relays import RelayRoute
from balancer.model.route_configurations import Listener, RouteConfiguration, Wildcards
from balancer.model.routes import Branch, Owner, ServiceName
from balancer.model.settings import ProxySettings
from balancer.workers.worker import USUAL_TIMES, Worker, WorkerTimes
from tests.fakes.endpoints import ScriptedEndpoint
from tests.fakes.sockets import until

OWNER = Owner("TCPRoute", "shop", "db")
KEY = BackendKey("shop/db:5432")
CONFIGURATION = "gateway:9000"
LISTENER = "Gateway/infra/gw/tcp"


def entry_point(protocol: Protocol = Protocol.TCP) -> EntryPoint:
    return EntryPoint(f"{CONFIGURATION}/{protocol.value}", protocol, 9000, "raw", CONFIGURATION)


def branch(key: BackendKey | None = KEY, *, owner: Owner = OWNER, weight: int = 1, service: str = "db") -> Branch:
    return Branch(key, owner, ServiceName("shop", service), weight=weight)


def route(*branches: Branch, name: str = "", **other: Any) -> RelayRoute:
    said = {"configuration": CONFIGURATION, "listener": LISTENER, "owner": OWNER, **other}
    return RelayRoute(name, branches=branches or (branch(),), **said)


def backend(*places: tuple[str, int], key: BackendKey = KEY, **other: Any) -> Backend:
    endpoints = tuple(sorted(Endpoint(address, port) for address, port in places))
    return Backend(key, "shop", "db", "5432", endpoints=endpoints, **other)


def model(
    backends: Sequence[Backend], *relays: RelayRoute, protocol: Protocol = Protocol.TCP, **other: Any
) -> RoutingModel:
    """One entry point of one listener, with these relay routes."""
    return RoutingModel(
        entry_points=(entry_point(protocol),),
        route_configurations=(RouteConfiguration(CONFIGURATION, wildcards=Wildcards.MANY_LABELS),),
        listeners=(Listener(LISTENER, CONFIGURATION, only_relays=True),),
        relays=relays or (route(),),
        backends=tuple(backends),
        **other,
    )


class Scene:
    """A worker that listens on `port`. `lines` are those of its access log."""

    def __init__(self, worker: Worker, port: int, reader: int, counts: bytearray) -> None:
        self.worker = worker
        self.port = port
        self._reader = reader
        self._counts = counts
        self._text = b""
        self._generation = 0
        self.writers: list[asyncio.StreamWriter] = []

    def show(self, content: RoutingModel) -> None:
        self._generation += 1
        self.worker.swap(Publication(self._generation, content))

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writers.append(writer)
        return reader, writer

    async def line(self, count: int = 1) -> dict[str, Any]:
        """The last of `count` lines of the access log, once they are there."""
        await until(lambda: self._read() >= count)
        found: dict[str, Any] = json.loads(self._text.splitlines()[count - 1])
        return found

    def _read(self) -> int:
        with suppress(BlockingIOError):
            self._text += os.read(self._reader, 65536)
        return self._text.count(b"\n")

    def counted(self, name: str) -> dict[tuple[str, ...], float]:
        """The series of a metric, by their labels."""
        return counted(self._counts, name)


def counted(buffer: bytearray, name: str) -> dict[tuple[str, ...], float]:
    """The first slot of each series of a metric, by its labels."""
    entries = (entry for entry in read(buffer) if entry.key.metric == NUMBERS[name])
    return {entry.key.labels: entry.values[0] for entry in entries}


@asynccontextmanager
async def relaying(content: RoutingModel, times: WorkerTimes = USUAL_TIMES) -> AsyncIterator[Scene]:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    counts = bytearray(MINIMUM_BYTES)
    recorder = Recorder(SlotTable(counts))
    log = AccessLog(writer, AccessLogFormat.JSON, recorder.access_log_dropped)
    worker = Worker(recorder=recorder, access_log=log, fallback=self_signed(), times=times)
    listener = listen("127.0.0.1", 0)
    scene = Scene(worker, port_of(listener), reader, counts)
    await worker.listen({"raw": listener})
    scene.show(content)
    try:
        yield scene
    finally:
        for each in scene.writers:
            each.transport.abort()
        await worker.stop()
        log.close(0.0)
        os.close(reader)
        os.close(writer)


def to(*endpoints: ScriptedEndpoint, **other: Any) -> RoutingModel:
    """The model whose one relay route leads to these endpoints. `other` are settings of the backend."""
    return model([backend(*((each.address, each.port) for each in endpoints), **other)])


def idle_after(content: RoutingModel, seconds: float) -> RoutingModel:
    return msgspec.structs.replace(content, proxy=ProxySettings(stream_idle_seconds=seconds))
