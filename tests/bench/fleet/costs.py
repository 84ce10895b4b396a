"""Measures what the exchange costs one replica among 3, 10, 30 and 64: bytes and CPU.

One replica converses for some seconds, over TLS on loopback, with the others, which another process plays: they tell
it what a replica tells, as often. Its CPU is that of its whole process, without what its worker does. All backends are
under `adaptive` and `proportional` at once, and every one has requests between two messages: the most that there can
be to tell.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import multiprocessing
import os
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
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
from balancer.sharing.memory import alone
from balancer.sharing.peers import Seen
from balancer.sharing.rows import tag_of
from ingress.replicas.conversation import Conversation, ConversationOptions
from ingress.replicas.messages import FlowRow, HealthRow, Picks, encode
from ingress.replicas.outbox import FAR_SECONDS, NEAR_SECONDS, Outbox
from ingress.replicas.picks import answers_by_namespace, picks_by_service
from ingress.replicas.port import Hear, Line, NotHeard, Teller, open_port
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
    process = context.Process(target=_run_others, args=(there, own, others, backends), daemon=True)
    process.start()
    there.close()  # so that the end of the process is noticed
    try:
        here.recv()
        places = tuple(f"{_HOST}:{port}" for port in others)
        with short_searches(), asyncio.Runner(loop_factory=loop_factory("auto")) as runner:
            return runner.run(_measured(here, own, places, backends, seconds=seconds))
    finally:
        process.kill()
        process.join()


async def _measured(pipe: Connection, port: int, places: tuple[str, ...], backends: int, *, seconds: float) -> Cost:
    async with AsyncExitStack() as stack:
        replica = await _begun(stack, _Replica(port, ZONES[-1], places, backends))
        await until(lambda: replica.conversation.facts().peers["up"] >= len(places), seconds=60.0)
        await asyncio.sleep(_SETTLING_SECONDS)
        leave_out()
        before = await _heard(pipe)
        began, cpu, working = time.perf_counter(), time.process_time(), replica.working_seconds
        await asyncio.sleep(seconds)
        spent = time.process_time() - cpu - (replica.working_seconds - working)
        elapsed = time.perf_counter() - began
        after = await _heard(pipe)
        near, far = ((now - then) / elapsed for now, then in zip(after, before, strict=True))
        return Cost(len(places) + 1, backends, near, far, spent / elapsed)


async def _heard(pipe: Connection) -> _Heard:
    pipe.send(None)
    told = await asyncio.to_thread(pipe.recv)
    assert isinstance(told, _Heard)
    return told


async def _begun(stack: AsyncExitStack, replica: _Replica) -> _Replica:
    await replica.conversation.start()
    stack.push_async_callback(replica.conversation.close)
    for run in (replica.conversation.run, replica.work):
        stack.callback(asyncio.create_task(run()).cancel)
    return replica


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
    """One replica with one worker, whose backends all have requests. CPU of the worker is in `working_seconds`."""

    def __init__(self, port: int, zone: str, places: tuple[str, ...], backends: int) -> None:
        self._model = _model(zone, _names(backends))
        self._buffer = bytearray(_TABLE_BYTES)
        self._counters = SlotTable(self._buffer)
        self._slots = [self._slot(ZONE_DECISIONS.name, *name.split("/"), "zone_local") for name in _names(backends)]
        self._slots += [
            self._slot(RESPONSES.name, namespace, "web", service, "200", "")
            for namespace, service in (name.split("/") for name in _names(backends))
        ]
        self._began = time.monotonic()
        memory = alone()
        self._peers = [memory.others.peers_of(key) for key in load_keys(self._model)]
        totals = Totals()
        ends = Ends(
            totals=lambda services: picks_by_service(totals, [self._buffer], services),
            answers=lambda: answers_by_namespace(totals, [self._buffer]),
            model=lambda: self._model,
            use=lambda *_: None,
            memory=memory.among_replicas,
            failing=lambda: (),
            suspect=lambda _: None,
            left=lambda: (),
            events=lambda _: None,
            flows=lambda: {(zone, to): FlowRow(zone, to, self._requests(), 0, 9, 9) for to in ZONES},
            places=lambda: (),
            crowded=lambda _: None,
        )
        options = ConversationOptions(_HOST, port, places, f"zonal-{port}")
        self.conversation = Conversation(options, credentials_of(_SECRET), ends)
        self.working_seconds = 0.0

    async def work(self) -> None:
        """What the worker sees, without end."""
        while True:
            began = time.process_time()
            now = time.perf_counter()
            count = _REQUESTS * _WORKER_SECONDS
            seen = Seen(count, count, count, count * 0.02, 0.0, 0.0)
            for each in self._peers:
                each.exchange(seen, share=0.1, baseline=0.02, now=now)
            for slot in self._slots:
                self._counters.values[slot] += count
            self.working_seconds += time.process_time() - began
            await asyncio.sleep(_WORKER_SECONDS)

    def _slot(self, metric: str, *labels: str) -> int:
        return self._counters.slot(Key(NUMBERS[metric], labels), 1)

    def _requests(self) -> int:
        return int((time.monotonic() - self._began) * _REQUESTS)


def _run_others(pipe: Connection, measured: int, ports: Sequence[int], backends: int) -> None:
    """Plays the replicas at `ports`, until the process is ended."""
    os.nice(4)
    with asyncio.Runner(loop_factory=loop_factory("auto")) as runner:
        runner.run(_others(pipe, measured, ports, backends))


async def _others(pipe: Connection, measured: int, ports: Sequence[int], backends: int) -> None:
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
            runner, _ = await open_port(_HOST, port, credentials=credentials, hear=ear(zone))
            stack.push_async_callback(runner.cleanup)
            line = Teller(credentials).line(f"{_HOST}:{measured}")
            telling = asyncio.create_task(_tell(line, zone, number, backends))
            stack.callback(telling.cancel)
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
