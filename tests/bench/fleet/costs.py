"""Measures what the exchange costs one replica among 3, 10, 30 and 64: bytes and CPU.

The control process of one replica converses for some seconds, over TLS on loopback, with the others, which another
process plays: they tell it what a replica tells, as often. That process plays the worker of the replica as well. All
backends are under `adaptive` and `proportional` at once, and every one has requests between two messages.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import mmap
import multiprocessing
import os
import random
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Final, NamedTuple

import msgspec

from balancer.metrics.definitions import RESPONSES, ZONE_DECISIONS
from balancer.metrics.recorder import NUMBERS
from balancer.metrics.slots import Key, SlotTable
from balancer.metrics.totals import Totals
from balancer.model.publication import RoutingModel
from balancer.model.zones import OwnZone, Zone, ZonePolicy, ZonePolicyName
from balancer.runtime.garbage import leave_out, short_searches
from balancer.runtime.loops import loop_factory
from balancer.sharing.memory import Seat, SharedMemory, join
from balancer.sharing.peers import Seen
from balancer.sharing.rows import tag_of
from ingress.replicas.conversation import Conversation, ConversationOptions
from ingress.replicas.lines import Line, NotHeard, Teller
from ingress.replicas.messages import FlowRow, HealthRow, Picks, encode
from ingress.replicas.outbox import FAR_SECONDS, NEAR_SECONDS, Outbox
from ingress.replicas.picks import OwnCounts
from ingress.replicas.port import Ears, Hear, open_port
from ingress.replicas.seen_columns import LOADS, SeenColumns, TellingColumns
from ingress.replicas.sharing import Ends, load_keys
from ingress.replicas.trust import credentials_of
from tests import builders as build
from tests.fakes.sockets import free_ports
from tests.integration.running import until

REPLICAS: Final = (3, 10, 30, 64)
ZONES: Final = ("zone-a", "zone-b", "zone-c")
NAMESPACES: Final = 50
DOLLARS_A_GIGABYTE: Final = 0.02
SECONDS: Final = 10.0

_MONTH_SECONDS: Final = 30 * 86_400
_HOST: Final = "127.0.0.1"
_SECRET: Final = b"a secret for a measurement"
_TABLE_BYTES: Final = 4 * 1024 * 1024
_WORKER_SECONDS: Final = 0.1
_TRIES: Final = 8  # of the clients of each backend in that time: each of them asks or does not
_SETTLING_SECONDS: Final = 10.0  # until all rates are known for long, more is told and learnt
_REQUESTS: Final = 20  # of each backend, in a second, at each replica


@dataclass(frozen=True, slots=True)
class Cost:
    """What one replica sends inside its zone and to other zones, in bytes a second, and the share of one core."""

    replicas: int
    backends: int
    near_bytes: float
    far_bytes: float
    core: float

    @property
    def fleet_dollars(self) -> float:
        """Dollars a month that bytes between zones cost for all replicas together."""
        return self.replicas * self.far_bytes * _MONTH_SECONDS / 1e9 * DOLLARS_A_GIGABYTE


class _Heard(NamedTuple):
    """Bytes of messages that others have heard: those in the zone of the replica that is measured, and all others."""

    near: int
    far: int


def measure(backends: int, replicas: int, *, seconds: float = SECONDS) -> Cost:
    """The cost with so many replicas, which share what they see of so many backends."""
    own, *others = free_ports(replicas)
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    memory, counters = SharedMemory(workers=1), os.memfd_create("counters")
    os.ftruncate(counters, _TABLE_BYTES)
    seat = memory.take()
    process = context.Process(target=_run_others, args=(there, seat, own, others, backends), daemon=True)
    process.start()
    there.close()  # so that the end of the process is noticed
    try:
        for descriptor in (seat.descriptor, counters):
            reduction.send_handle(here, descriptor, process.pid)
        here.recv()
        replica = _Replica(own, tuple(f"{_HOST}:{port}" for port in others), backends, memory, counters)
        with short_searches(), asyncio.Runner(loop_factory=loop_factory("auto")) as runner:
            return runner.run(_measured(here, replica, seconds=seconds))
    finally:
        process.kill()
        process.join()
        os.close(counters)
        memory.close()


async def _measured(pipe: Connection, replica: _Replica, *, seconds: float) -> Cost:
    conversation, others = replica.conversation(), len(replica.places)
    await conversation.start()
    conversing = asyncio.create_task(conversation.run())
    try:
        await until(lambda: conversation.facts().peers["up"] >= others, seconds=60.0)
        await asyncio.sleep(_SETTLING_SECONDS)
        leave_out()
        before = await _heard(pipe)
        began, cpu = time.perf_counter(), time.process_time()
        await asyncio.sleep(seconds)
        spent, elapsed = time.process_time() - cpu, time.perf_counter() - began
        after = await _heard(pipe)
        near, far = ((now - then) / elapsed for now, then in zip(after, before, strict=True))
        return Cost(others + 1, replica.backends, near, far, spent / elapsed)
    finally:
        conversing.cancel()
        await conversation.close()


async def _heard(pipe: Connection) -> _Heard:
    pipe.send(None)
    told = await asyncio.to_thread(pipe.recv)
    assert isinstance(told, _Heard)
    return told


def _names(backends: int) -> list[str]:
    return [f"shop-{number % NAMESPACES}/service-{number}" for number in range(backends)]


def _model(zone: str, names: Sequence[str]) -> RoutingModel:
    keys = [f"{name}:80" for name in names]
    adaptive = ZonePolicy(ZonePolicyName.ADAPTIVE)
    proportional = ZonePolicy(ZonePolicyName.PROPORTIONAL)
    endpoints = [build.endpoint(f"10.0.0.{number}", zone=each) for number, each in enumerate(ZONES, 1)]
    backends = [build.backend(key, endpoints, zone_policy=adaptive) for key in keys]
    routes = [build.route(f"/{number}", key, zone_policy=proportional) for number, key in enumerate(keys)]
    made = build.model(*backends, hosts=[build.host("shop.test", *routes)])
    return msgspec.structs.replace(made, own_zone=OwnZone(Zone(zone), "flag"))


class _Replica:
    """The control process of a replica whose backends all have requests; its worker is another process."""

    def __init__(self, port: int, places: tuple[str, ...], backends: int, memory: SharedMemory, counters: int) -> None:
        """`memory` is what it shares with the worker, and `counters` the descriptor of the worker's counters."""
        self.places = places
        self.backends = backends
        self._port = port
        self._model = _model(ZONES[-1], _names(backends))
        self._memory = memory
        table = mmap.mmap(counters, _TABLE_BYTES)
        self._counts = OwnCounts(Totals(), lambda: [table])
        self._began = time.monotonic()

    def conversation(self) -> Conversation:
        """What is measured. Must be called inside the running loop."""
        ends = Ends(
            totals=self._counts.picks,
            answers=self._counts.answers,
            model=lambda: self._model,
            use=lambda *_: None,
            memory=self._memory.among_replicas(),
            failing=lambda: (),
            suspect=lambda _: None,
            left=lambda: (),
            events=lambda _: None,
            flows=self._flows,
            places=lambda: (),
            crowded=lambda _: None,
            expired=lambda _: None,
        )
        options = ConversationOptions(_HOST, self._port, self.places, f"zonal-{self._port}")
        return Conversation(options, credentials_of(_SECRET), ends)

    def _flows(self) -> dict[tuple[str, str], FlowRow]:
        requests, zone = int((time.monotonic() - self._began) * _REQUESTS), ZONES[-1]
        return {(zone, to): FlowRow(zone, to, requests, 0, 9, 9) for to in ZONES}


class _Worker:
    """The worker of the replica that is measured."""

    def __init__(self, seat: Seat, counters: int, backends: int) -> None:
        """`counters` is the descriptor of its counters."""
        names = [tuple(name.split("/")) for name in _names(backends)]
        table = SlotTable(mmap.mmap(counters, _TABLE_BYTES))
        self._values = table.values
        self._slots = [
            (
                table.slot(Key(NUMBERS[ZONE_DECISIONS.name], (*name, "zone_local")), 1),
                table.slot(Key(NUMBERS[RESPONSES.name], (name[0], "web", name[1], "200", "")), 1),
            )
            for name in names
        ]
        others, model = join(seat).others, _model(ZONES[-1], _names(backends))
        self._peers = [others.peers_of(key) for key in load_keys(model)]
        self._chance = random.Random(30)

    async def run(self) -> None:
        """Sees requests that come at random, without end."""
        while True:
            now, chance = time.perf_counter(), self._chance.random
            for peers, slots in zip(self._peers, self._slots, strict=True):
                count = sum(chance() < _REQUESTS * _WORKER_SECONDS / _TRIES for _ in range(_TRIES))
                peers.exchange(Seen(count, count, count, count * 0.02, 0.0, 0.0), share=0.1, baseline=0.02, now=now)
                for slot in slots:
                    self._values[slot] += count
            await asyncio.sleep(_WORKER_SECONDS)


def _run_others(pipe: Connection, seat: Seat, measured: int, ports: Sequence[int], backends: int) -> None:
    """Plays the worker of the replica at the port `measured`, and the replicas at `ports`, until it is ended."""
    os.nice(4)
    memory, counters = reduction.recv_handle(pipe), reduction.recv_handle(pipe)
    worker = _Worker(seat._replace(descriptor=memory), counters, backends)
    with asyncio.Runner(loop_factory=loop_factory("auto")) as runner:
        runner.run(_others(pipe, worker, measured, ports, backends))


async def _others(pipe: Connection, worker: _Worker, measured: int, ports: Sequence[int], backends: int) -> None:
    heard = dict.fromkeys(ZONES, 0)

    def answer() -> None:
        pipe.recv()
        near = heard[ZONES[-1]]
        pipe.send(_Heard(near, sum(heard.values()) - near))

    def ear(zone: str) -> Hear:
        def hear(_: str, data: bytes) -> str:
            heard[zone] += len(data)
            return zone

        return hear

    async with AsyncExitStack() as stack:
        for number, port in enumerate(ports):
            zone = ZONES[number % len(ZONES)]
            credentials = credentials_of(_SECRET)
            runner, _ = await open_port(_HOST, port, credentials=credentials, ears=Ears(ear(zone)))
            stack.push_async_callback(runner.cleanup)
            line = Teller(credentials).line(f"{_HOST}:{measured}")
            telling = asyncio.create_task(_tell(line, zone, number, backends))
            stack.callback(telling.cancel)
        working = asyncio.create_task(worker.run())
        stack.callback(working.cancel)
        asyncio.get_running_loop().add_reader(pipe.fileno(), answer)
        pipe.send(len(ports))
        await asyncio.Event().wait()


async def _tell(line: Line, zone: str, number: int, backends: int) -> None:
    """Tells the replica that is measured what grows, without end, as often as a replica of `zone` does."""
    outbox, loads = Outbox(), TellingColumns(LOADS)
    outbox.is_near = zone == ZONES[-1]
    keys = sorted(load_keys(_model(zone, _names(backends))))
    tags = tuple(map(tag_of, keys))
    began, picks_at = time.monotonic(), float("-inf")
    await asyncio.sleep(number / 100)  # so that they do not all speak at one moment
    for turn in itertools.count(1):
        now = time.monotonic()
        sections = _sections(backends, now - began)
        if now - picks_at < FAR_SECONDS and not outbox.is_new:
            del sections["picks"]
        else:
            picks_at = now
        loads.read(_seen(tags, now - began))
        with contextlib.suppress(NotHeard):
            await line.open()
            tables = {"loads": loads} if outbox.is_near else {}
            message = outbox.message(turn, name=f"zonal-{number}", zone=zone, sections=sections, tables=tables)
            await line.tell(encode(message))
            outbox.arrived()
        await asyncio.sleep(NEAR_SECONDS if outbox.is_near else outbox.seconds)


def _sections(backends: int, seconds: float) -> dict[str, dict[str, object]]:
    """What is told after so many seconds: picks as of each second, answers as of each second one."""
    picks, answers = int(seconds) * _REQUESTS, int(seconds / 2) * 20 * _REQUESTS
    return {
        "picks": {name: Picks(name, 1_000_000 + picks) for name in _names(backends)},
        "health": {
            name: HealthRow(name, 10_000_000 + answers, 50) for name in (f"shop-{each}" for each in range(NAMESPACES))
        },
    }


def _seen(tags: tuple[int, ...], seconds: float) -> SeenColumns:
    """What the workers of another replica have seen after so many seconds."""
    requests = float(int(seconds * _REQUESTS))
    totals, state = (requests, requests, requests, requests * 0.02, 0.0, 0.0), (0.1, 0.02)
    return SeenColumns(tags, *(tuple([word] * len(tags) for word in words) for words in (totals, state)))
