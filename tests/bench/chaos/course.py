"""The course of a run: the modest tenant alone, then beside everybody hostile, then the look at what is left.

Responsible for the order and for collecting. It must not judge.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

from prometheus_client import Metric

from tests.bench.chaos import admin_clients, handshakes, http1_clients, http2_clients
from tests.bench.chaos.actors import Actor, Cast, Played
from tests.bench.chaos.broken_endpoints import BrokenEndpoints
from tests.bench.chaos.broken_http2_endpoints import BrokenHttp2Endpoints
from tests.bench.chaos.building import Build
from tests.bench.chaos.ground import Ground, prepared
from tests.bench.chaos.heaps import written
from tests.bench.chaos.modest import Modest, Served
from tests.bench.chaos.tenants_of_manifests import TenantsOfManifests
from tests.bench.chaos.tenants_of_secrets import TenantsOfSecrets
from tests.bench.chaos.tenants_of_services import TenantsOfServices
from tests.bench.soak.process import Running, running
from tests.bench.soak.sampling import Held, Samples, quiet, total
from tests.bench.soak.trends import Point
from tests.features.faults.load import Limit
from tests.integration.processes import children, usage, workers

_SAMPLES = 240  # a run has about so many, but never more than one a second
_ALONE_SECONDS = 30.0
_ALONE_SHARE = 0.1
_SETTLE_SECONDS = 30.0
_POLL_SECONDS = 0.25
_OPTIONS = ("--allow-external-name",)


class Options(NamedTuple):
    """What a run is told. `rate` is that of each modest load. Actors take part by their names.

    `without` are those that do not; if there are any in `only`, all others do not. `limited` says
    when a request of a modest load is late.
    """

    seconds: float
    workers: str
    rate: int
    seed: int
    without: Collection[str] = ()
    only: Collection[str] = ()
    limited: Limit = asyncio.timeout

    def has(self, name: str) -> bool:
        return name not in self.without and (not self.only or name in self.only)


class Descriptors(NamedTuple):
    """How many the parent holds, and the worker that holds the most."""

    parent: int
    worker: int


class Outcome(NamedTuple):
    """All that was measured. `began` and `ended` are the ends of the chaos, by the clock of the samples.

    `allocated` are bytes by process, which only a build under AddressSanitizer can count.
    """

    options: Options
    build: str
    alone: list[Served]
    beside: list[Served]
    wrong_posts: int
    played: list[Played]
    held: list[Held]
    allocated: dict[int, list[Point]]
    began: float
    ended: float
    workers_before: list[int]
    workers_after: list[int]
    restarts: int
    changes: int
    answered: int
    rubbish_bytes: int
    connections_left: dict[str, int]
    descriptors_before: Descriptors
    descriptors_after: Descriptors
    exit_status: int
    processes_left: int
    trouble: list[str]
    reports: list[str]


async def follow(options: Options, build: Build, place: Path) -> Outcome:
    """Run it all in an empty folder. Raises whatever keeps it from being a run at all."""
    async with AsyncExitStack() as stack:
        ground = await stack.enter_async_context(prepared(place / "manifests"))
        modest = Modest(ground, rate=options.rate, limited=options.limited)
        await modest.start(stack)
        started = running(
            ground.folder.place,
            workers=options.workers,
            options=_OPTIONS,
            environment=build.environment,
            tree=build.tree,
        )
        served = await stack.enter_async_context(started)
        if build.tree is not None and (label := _build_of(await served.metrics())) != "compiled":
            raise RuntimeError(f"the process says that its build is {label}")
        ground.http_port, ground.https_port, ground.admin_port = served.http_port, served.https_port, served.admin_port
        actors = [each for each in await _actors(ground, options, stack) if options.has(each.name)]
        cast = Cast(actors, seed=options.seed)
        return await _Course(options, build, ground, modest=modest, served=served, cast=cast).follow()


def _build_of(metrics: Mapping[str, Metric]) -> str:
    """What the process says its data plane is: plain or compiled."""
    (sample,) = metrics["zonal_build_info"].samples
    return sample.labels["build"]


async def _actors(ground: Ground, options: Options, stack: AsyncExitStack) -> Sequence[Actor]:
    """Everybody hostile, with what they need started."""
    endpoints = BrokenEndpoints(ground, seed=options.seed)
    http2_endpoints = BrokenHttp2Endpoints(ground, seed=options.seed)
    of_secrets, of_services = TenantsOfSecrets(ground), TenantsOfServices(ground)
    await endpoints.start(stack)
    await http2_endpoints.start(stack)
    await of_services.start(stack)
    await of_secrets.start()
    return (
        *http1_clients.actors(ground),
        *http2_clients.actors(ground),
        *handshakes.actors(ground),
        *admin_clients.actors(ground),
        *endpoints.actors(),
        *http2_endpoints.actors(),
        *of_secrets.actors(),
        *of_services.actors(),
        *TenantsOfManifests(ground).actors(),
    )


class _Course:
    def __init__(
        self, options: Options, build: Build, ground: Ground, *, modest: Modest, served: Running, cast: Cast
    ) -> None:
        self._options = options
        self._build = build
        self._ground = ground
        self._modest = modest
        self._served = served
        self._cast = cast
        self._samples = Samples(served)

    async def follow(self) -> Outcome:
        served, seconds = self._served, self._options.seconds
        alone = await self._modest.run(seconds=min(_ALONE_SECONDS, seconds * _ALONE_SHARE))
        await quiet(served)
        before, descriptors_before = workers(served.pid), self._descriptors()
        began = time.monotonic()
        beside = await self._beside(seconds)
        ended = time.monotonic()
        left = await quiet(served)
        await self._settle(descriptors_before)
        metrics = await served.metrics()
        after, descriptors_after, processes = workers(served.pid), self._descriptors(), children(served.pid)
        status = await served.stop()
        ledger = self._modest.ledger
        return Outcome(
            options=self._options,
            build=self._build.name,
            alone=alone,
            beside=beside,
            wrong_posts=len(ledger.doubled_posts) + len(ledger.wrong_bodies),
            played=self._cast.played,
            held=self._samples.held,
            allocated={} if self._build.reports is None else written(self._build.reports.parent),
            began=began,
            ended=ended,
            workers_before=before,
            workers_after=after,
            restarts=total(metrics, "zonal_worker_restarts"),
            changes=self._ground.changes,
            answered=served.log_lines,
            rubbish_bytes=self._ground.rubbish_bytes,
            connections_left=left,
            descriptors_before=descriptors_before,
            descriptors_after=descriptors_after,
            exit_status=status,
            processes_left=sum(usage(pid) is not None for pid in processes),
            trouble=served.trouble,
            reports=self._build.found(),
        )

    async def _beside(self, seconds: float) -> list[Served]:
        """The modest tenant beside all others, who end when it does."""
        sampling = asyncio.create_task(self._samples.repeat(every_seconds=max(1.0, seconds / _SAMPLES)))
        served, _ = await asyncio.gather(self._modest.run(seconds=seconds), self._cast.play(seconds=seconds))
        sampling.cancel()
        return served

    async def _settle(self, before: Descriptors) -> None:
        """Wait for descriptors of what is in no metric, such as idle connections to mirrors, but not for ever."""
        deadline = time.monotonic() + _SETTLE_SECONDS
        while time.monotonic() < deadline:
            now = self._descriptors()
            if now.parent <= before.parent and now.worker <= before.worker:
                return
            await asyncio.sleep(_POLL_SECONDS)

    def _descriptors(self) -> Descriptors:
        held = [usage(pid) for pid in (self._served.pid, *workers(self._served.pid))]
        parent, *others = (each.descriptors if each else 0 for each in held)
        return Descriptors(parent, max(others, default=0))
