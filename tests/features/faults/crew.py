"""The workers of a stage: which of them holds which connection, how one is struck, and when its successor serves.

Responsible for knowing exactly what a struck worker held: it is stopped first, so that it takes in nothing between the
look at its connections and its end.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import select
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

from tests.fakes.clients import RawClient, Response
from tests.fakes.stopwatch import Stopwatch
from tests.features.faults.load import Ledger, Load, request_of
from tests.features.faults.stage import Services, Stage, manifests
from tests.integration.manifests import ManifestFolder
from tests.integration.processes import peers, sockets, state, workers, zombies
from tests.integration.running import Zonal, running, until

SIZES_BYTES = (1024, 65536, 0, 1024)  # 0 is a POST
_PATIENCE_SECONDS = 60.0
_POLL_SECONDS = 0.02
_UNUSED_SECONDS = 0.5  # a drain closes a connection on which nothing came for a second
_TAKEN_IN_WITHIN_SECONDS = 2.0
_SPARE_TABLES = 1  # of counters: a successor counts in another one than whom it relieves, and that one stays


class Strike(NamedTuple):
    """A worker that was struck: how long ago, what it held (ports of clients), and who else was there."""

    watch: Stopwatch
    pid: int
    held: frozenset[int]
    others: frozenset[int]


class Crew(Stage):
    """A stage whose process serves in workers, of which none holds a connection of a client yet."""

    def __init__(self, zonal: Zonal, folder: ManifestFolder, ledger: Ledger) -> None:
        super().__init__(zonal, folder, ledger)
        self._own_sockets = max(len(sockets(pid)) for pid in self.workers)

    @property
    def workers(self) -> list[int]:
        """Those that run, the oldest first."""
        return workers(self.zonal.pid)

    def held_by(self, pid: int) -> set[int]:
        """The clients' ports of the connections that a worker has taken in."""
        return peers(pid, {self.zonal.http_port, self.zonal.https_port})

    def spread(self) -> Counter[int]:
        """How many connections of clients each worker holds."""
        return Counter({pid: len(self.held_by(pid)) for pid in self.workers})

    async def has_served(self, pid: int, *, seconds: float) -> None:
        """Wait until a worker has accepted connections for so long, by the clock of the process' own log."""
        said = re.compile(rf"^(\S+ \S+),\d+ .* accepts, process {pid}$", re.MULTILINE)

        def is_so() -> bool:
            match = said.search(self.zonal.stderr)
            age = datetime.now() - datetime.fromisoformat(match[1]) if match else None
            return age is not None and age.total_seconds() >= seconds

        await until(is_so, seconds=_PATIENCE_SECONDS)

    def kill(self, pid: int) -> Strike:
        """SIGKILL to a worker."""
        os.kill(pid, signal.SIGSTOP)
        struck = self.stopped(pid)
        os.kill(pid, signal.SIGKILL)
        return struck

    def stopped(self, pid: int) -> Strike:
        """What a worker holds that was sent SIGSTOP."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while state(pid) != "T":
            assert time.monotonic() < deadline
        others = frozenset(self.workers) - {pid}
        return Strike(Stopwatch(), pid, frozenset(self.held_by(pid)), others)

    async def replaced(self, struck: Strike) -> float:
        """Wait until a new worker holds connections of clients; the seconds since the strike."""
        while not any(len(sockets(pid)) > self._own_sockets for pid in self.successors(struck)):
            assert struck.watch.within(_PATIENCE_SECONDS), self.zonal.stderr
            await asyncio.sleep(_POLL_SECONDS)
        return struck.watch.seconds

    def successors(self, struck: Strike) -> list[int]:
        """The workers that were not there when one was struck."""
        return [pid for pid in self.workers if pid != struck.pid and pid not in struck.others]

    async def is_whole(self, count: int) -> None:
        """Wait until there are so many workers and no zombie."""
        await until(lambda: len(self.workers) == count and not zombies(self.zonal.pid), seconds=_PATIENCE_SECONDS)


@asynccontextmanager
async def crewed(
    place: Path, services: Services, *, ledger: Ledger, count: int = 2, **settings: str
) -> AsyncIterator[Crew]:
    """As `staged`, with so many workers. At its end there are as many, whatever happened to them, and no zombie."""
    folder = manifests(place, services, **settings)
    async with running(folder.place, f"--workers={count}") as zonal:
        crew = Crew(zonal, folder, ledger)
        assert len(crew.workers) == count
        await zonal.admin("/metrics")
        baseline = crew.descriptors()
        yield crew
        await crew.is_whole(count)
        await until(lambda: crew.descriptors() <= baseline + _SPARE_TABLES, seconds=_PATIENCE_SECONDS)
    assert ledger.doubled_posts == []
    assert ledger.wrong_bodies == []


class TracedLoad(Load):
    """Load that remembers on which of our ports it failed; 0 stands for a connection that was refused.

    As a client should, it uses no connection that it could know to be closed, or on which it was silent for long, for
    want of a request or of a processor: the proxy may be about to close that one, and the end would cross the request
    (RFC 9112 9.3.1).
    """

    def __init__(self, port: int, *, prefix: str = "", keeps: bool = True, source: str = "") -> None:
        super().__init__(port, prefix=prefix, keeps=keeps, source=source)
        self.cut_ports: list[int] = []
        self.sent = 0
        self._used_at = WeakKeyDictionary[RawClient, float]()

    async def _answer(self, request: bytes) -> Response:
        self._drop_closed()
        self.sent += 1
        port = 0
        try:
            while not self._idle:
                began = time.monotonic()
                client = await self._connected()
                if time.monotonic() - began < _UNUSED_SECONDS:
                    self._idle.append(client)
                else:
                    client.writer.close()
            client = self._idle[-1]  # the one that is used next
            port = port_of(client)
            response = await super()._answer(request)
            self._used_at[client] = time.monotonic()
            return response
        except BaseException:
            self.cut_ports.append(port)
            raise

    def _drop_closed(self) -> None:
        old = time.monotonic() - _UNUSED_SECONDS
        for client in tuple(self._idle):
            if _is_closed(client) or self._used_at.get(client, old) < old:
                client.writer.close()
                self._idle.remove(client)


def port_of(client: RawClient) -> int:
    """Our port of a connection."""
    return int(client.writer.get_extra_info("sockname")[1])


def _is_closed(client: RawClient) -> bool:
    if client.reader.at_eof() or client.reader.exception() is not None or client.writer.is_closing():
        return True
    poll = select.poll()  # a busy loop has not read the end yet
    poll.register(client.writer.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(poll.poll(0))


def unexplained(loads: Sequence[TracedLoad], strikes: Sequence[Strike]) -> list[int]:
    """Our ports of requests that failed on connections which no struck worker held."""
    held = frozenset(itertools.chain.from_iterable(struck.held for struck in strikes))
    return [port for load in loads for port in load.cut_ports if port not in held]


@asynccontextmanager
async def sending(*loads: tuple[Load, int]) -> AsyncIterator[None]:
    """Open loop: so many requests a second of each load while the context lasts. All are answered at its end."""
    is_over = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for load, rate in loads:
            group.create_task(_send(load, rate, is_over))
        try:
            yield
        finally:
            is_over.set()


async def _send(load: Load, rate: int, is_over: asyncio.Event) -> None:
    started, number = time.monotonic(), 0
    async with asyncio.TaskGroup() as group:
        while not is_over.is_set():
            group.create_task(load.ask(SIZES_BYTES[number % len(SIZES_BYTES)]))
            number += 1
            await asyncio.sleep(max(0.0, started + number / rate - time.monotonic()))
    load.close()


@asynccontextmanager
async def line_to(crew: Crew, pid: int) -> AsyncIterator[RawClient]:
    """A connection that this worker holds. Those that others take in are closed; a stopped one takes in none."""
    async with AsyncExitStack() as stack:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            client = await stack.enter_async_context(RawClient(crew.port))
            if await _holder(crew, port_of(client)) == pid:
                break
            assert time.monotonic() < deadline, f"worker {pid} takes in no connection"
        yield client


async def _holder(crew: Crew, port: int) -> int | None:
    """Who takes in the connection from our port; nobody, if it waits for one that is stopped."""
    deadline = time.monotonic() + _TAKEN_IN_WITHIN_SECONDS
    while time.monotonic() < deadline:
        for pid in crew.workers:
            if port in crew.held_by(pid):
                return pid
        await asyncio.sleep(_POLL_SECONDS)
    return None


async def endpoint_of(client: RawClient, identity: str) -> str:
    """The name of the endpoint that answers a request on this connection."""
    return (await client.ask(request_of(identity, 100))).fields[b"x-endpoint"].decode()
