"""What every process of the soak holds, each few seconds.

Responsible for taking samples. It must not judge them.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import NamedTuple

from prometheus_client import Metric

from tests.bench.soak.changes import PASSING
from tests.bench.soak.process import Running
from tests.bench.soak.trends import Point
from tests.integration.processes import Usage, usage, workers

SETTLE_SECONDS = 20.0
"""Idle connections to endpoints are closed by then, and time-outs have ended what was left half-done."""

_POLL_SECONDS = 0.25


class Held(NamedTuple):
    """What a process held when; `name` tells the parent from its workers in the order they began."""

    name: str
    pid: int
    samples: list[tuple[float, Usage]]

    def points(self, figure: Callable[[Usage], float]) -> list[Point]:
        return [Point(at, figure(each)) for at, each in self.samples]


class Samples:
    """Of one process and of all its workers, those that have ended too."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._held: dict[int, Held] = {}

    @property
    def held(self) -> list[Held]:
        """In the order in which they began."""
        return list(self._held.values())

    async def repeat(self, *, every_seconds: float) -> None:
        """Until cancelled."""
        while True:
            self.take()
            await asyncio.sleep(every_seconds)

    def take(self) -> None:
        """One sample of everything."""
        now = time.monotonic()
        for pid in (self._running.pid, *workers(self._running.pid)):
            if (held := usage(pid)) is not None:
                self._of(pid).samples.append((now, held))

    def _of(self, pid: int) -> Held:
        if pid not in self._held:
            name = f"worker, the {len(self._held)}." if self._held else "parent"
            self._held[pid] = Held(name, pid, [])
        return self._held[pid]


def connections(metrics: Mapping[str, Metric]) -> dict[str, int]:
    """How many are open, by state."""
    return {each.labels["state"]: int(each.value) for each in metrics["zonal_connections"].samples}


def counted(metrics: Mapping[str, Metric]) -> int:
    """All requests but those of Ingresses that come and go or change their Service: their series do so too."""
    by_ingress: defaultdict[str, float] = defaultdict(float)
    for sample in metrics["zonal_requests"].samples:
        if sample.name == "zonal_requests_total":
            by_ingress[sample.labels["ingress"]] += sample.value
    return int(sum(value for ingress, value in by_ingress.items() if ingress not in PASSING))


def total(metrics: Mapping[str, Metric], name: str) -> int:
    """The sum of a counter, called without `_total`; 0 if there is no such counter."""
    samples = metrics[name].samples if name in metrics else []
    return int(sum(sample.value for sample in samples if sample.name.endswith("_total")))


async def quiet(running: Running) -> dict[str, int]:
    """Wait until no connection is open; what is open still when the patience ends."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while any((left := connections(await running.metrics())).values()):
        if time.monotonic() > deadline:
            break
        await asyncio.sleep(_POLL_SECONDS)
    return left
