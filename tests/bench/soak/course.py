"""The course of a soak: clients, changes, samples and kills beside each other, then the look at what is left.

Responsible for the order and for collecting. It must not judge.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

from prometheus_client import Metric

from tests.bench.soak import killing
from tests.bench.soak.changes import APP_ENDPOINTS, Cluster
from tests.bench.soak.clients import Clients
from tests.bench.soak.endpoints import Endpoint
from tests.bench.soak.process import Running, running
from tests.bench.soak.sampling import Held, Samples, counted, quiet, total
from tests.bench.soak.tally import Kill, Tally
from tests.integration.processes import children, sockets, usage, workers
from tests.integration.wire import trusting

_SAMPLES = 120  # a run has about so many, but never more than one a second
_LAST_KILL_SHARE = 0.9
"""Of a run: whoever is killed later has no successor that clients still come to."""

_PATIENCE_SECONDS = 3.0
_POLL_SECONDS = 0.1


class Options(NamedTuple):
    """What a run is told. With `kill_seconds` of 0 nothing is killed."""

    seconds: float
    workers: str
    rate: float
    kill_seconds: float
    change_seconds: float
    seed: int


class Descriptors(NamedTuple):
    """How many the parent holds, and the worker that holds the most; 0 without workers."""

    parent: int
    worker: int


class Outcome(NamedTuple):
    """All that was measured. `connections_left` are those that would not end, by state."""

    options: Options
    tally: Tally
    kills: list[Kill]
    held: list[Held]
    doubled_posts: int
    changes: int
    publications: int
    counted: int
    logged: int
    dropped_lines: int
    torn_lines: int
    connections_left: dict[str, int]
    descriptors_before: Descriptors
    descriptors_after: Descriptors
    exit_status: int
    processes_left: int
    trouble: list[str]


async def follow(options: Options, place: Path) -> Outcome:
    """Run it all in an empty folder. Raises whatever keeps it from being a run at all."""
    posts: Counter[str] = Counter()
    async with AsyncExitStack() as stack:
        start = stack.enter_async_context
        app = [await start(Endpoint("app", f"zone-{'aabc'[number]}", posts)) for number in range(APP_ENDPOINTS)]
        flipped = [await start(Endpoint(name, "zone-a", posts)) for name in ("one", "other")]
        cluster = Cluster(place / "manifests", app, flipped, seed=options.seed)
        served = await start(running(cluster.folder.place, workers=options.workers))
        tls = trusting(cluster.authority.cert_pem.bytes())
        clients = Clients(served.http_port, served.https_port, tls, rate=options.rate, seed=options.seed)
        return await _Course(options, served, cluster, clients, posts).follow()


class _Course:
    def __init__(
        self, options: Options, served: Running, cluster: Cluster, clients: Clients, posts: Counter[str]
    ) -> None:
        self._options = options
        self._served = served
        self._cluster = cluster
        self._clients = clients
        self._posts = posts
        self._samples = Samples(served)
        self._kills: list[Kill] = []
        self._changes = 0
        self._own_sockets = max((len(sockets(pid)) for pid in workers(served.pid)), default=0)

    async def follow(self) -> Outcome:
        before = await self._served.metrics()
        descriptors_before = self._descriptors()
        await self._load()
        after = await self._all_counted()
        left = await quiet(self._served)
        descriptors_after, processes = self._descriptors(), children(self._served.pid)
        status = await self._served.stop()
        return Outcome(
            options=self._options,
            tally=self._clients.tally,
            kills=self._kills,
            held=self._samples.held,
            doubled_posts=sum(count > 1 for count in self._posts.values()),
            changes=self._changes,
            publications=_generation(after) - _generation(before),
            counted=counted(after),
            logged=self._served.log_lines,
            dropped_lines=total(after, "zonal_access_log_dropped"),
            torn_lines=self._served.torn_lines,
            connections_left=left,
            descriptors_before=descriptors_before,
            descriptors_after=descriptors_after,
            exit_status=status,
            processes_left=sum(usage(pid) is not None for pid in processes),
            trouble=self._served.trouble,
        )

    async def _load(self) -> None:
        """The clients for as long as they should run, and all that happens beside them."""
        seconds = self._options.seconds
        async with asyncio.TaskGroup() as group:
            started = time.monotonic()
            beside = [
                group.create_task(self._samples.repeat(every_seconds=max(1.0, seconds / _SAMPLES))),
                group.create_task(self._change()),
            ]
            visiting = group.create_task(self._clients.run())
            await self._kill(until=started + seconds * _LAST_KILL_SHARE)
            await asyncio.sleep(started + seconds - time.monotonic())
            self._clients.finish()
            await visiting
            for task in beside:
                task.cancel()

    async def _change(self) -> None:
        while True:
            await asyncio.sleep(self._options.change_seconds)
            self._cluster.change()
            self._changes += 1

    async def _kill(self, *, until: float) -> None:
        every = self._options.kill_seconds
        while every and workers(self._served.pid) and time.monotonic() + every <= until:
            await asyncio.sleep(every)
            self._kills.append(await killing.kill(self._served, own_sockets=self._own_sockets))

    async def _all_counted(self) -> dict[str, Metric]:
        """The metrics once the last answers, which clients have already, are among them."""
        tally, served = self._clients.tally, self._served
        await _patiently(lambda: served.log_lines >= tally.answered.total())
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while counted(metrics := await served.metrics()) < tally.counted and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(_POLL_SECONDS)
        return metrics

    def _descriptors(self) -> Descriptors:
        pid = self._served.pid
        held = [usage(each) for each in (pid, *workers(pid))]
        parent, *others = (each.descriptors if each else 0 for each in held)
        return Descriptors(parent, max(others, default=0))


async def _patiently(is_so: Callable[[], bool]) -> None:
    """Wait for a state, but not for ever: whether it came is judged later."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not is_so() and time.monotonic() < deadline:  # noqa: ASYNC110 - another process's state
        await asyncio.sleep(_POLL_SECONDS)


def _generation(metrics: dict[str, Metric]) -> int:
    (sample,) = metrics["zonal_config_generation"].samples
    return int(sample.value)
