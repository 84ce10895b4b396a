"""Reads CPU time, memory, file descriptors and start time of processes from the kernel, for a scrape.

The collectors of prometheus_client do the reading: of /proc, of the interpreter and of its garbage collector. Does not
know what a worker does, nor how it is found.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

from balancer.metrics.process_metrics import (
    PARENT_METRICS,
    PROCESS_CPU,
    PROCESS_MEMORY,
    PROCESS_OPEN_FDS,
    PROCESS_START,
    WORKER_CPU,
    WORKER_MEMORY,
    WORKER_OPEN_FDS,
    WORKER_START,
)

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

# The parent's metrics have the names of the readings: the standard names of all Prometheus clients.
_OF_PARENT: Final = tuple(definition.name for definition in PARENT_METRICS)
_OF_WORKER: Final = {
    WORKER_CPU.name: PROCESS_CPU.name,
    WORKER_MEMORY.name: PROCESS_MEMORY.name,
    WORKER_OPEN_FDS.name: PROCESS_OPEN_FDS.name,
    WORKER_START.name: PROCESS_START.name,
}

PROCESS_METRICS: Final = (*_OF_PARENT, *_OF_WORKER)
"""The names of all metrics that this module reads."""

Samples = list[tuple[tuple[str, ...], float]]
"""Label values and the value for them."""


def process_series(workers: Mapping[int, int]) -> dict[str, Samples]:
    """The series of `PROCESS_METRICS` of this process and of `workers`, which maps worker numbers to process ids.

    Leaves out what cannot be read, such as a process that has ended. Call it in a thread, because the kernel takes
    milliseconds to list thousands of file descriptors.
    """
    own = _readings(os.getpid())
    series: dict[str, Samples] = {name: [((), own[name])] for name in _OF_PARENT if name in own}
    for number, pid in sorted(workers.items()):
        readings = _readings(pid)
        for name, read_as in _OF_WORKER.items():
            if read_as in readings:
                series.setdefault(name, []).append(((str(number),), readings[read_as]))
    return series


def interpreter_text() -> bytes:
    """The metrics of prometheus_client about the interpreter of this process and its garbage collector, as text.

    Takes 50 microseconds, the first call 80 ms for the import. Call it in a thread.
    """
    from prometheus_client import generate_latest

    return generate_latest(_interpreter())


@cache
def _interpreter() -> CollectorRegistry:
    from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector

    registry = CollectorRegistry()
    PlatformCollector(registry)
    GCCollector(registry)
    return registry


def _readings(pid: int) -> dict[str, float]:
    """What prometheus_client reads about a process in /proc, by the standard names."""
    # The first scrape imports this in its thread, because the import takes 80 ms for which the start need not wait.
    from prometheus_client.process_collector import ProcessCollector

    families = ProcessCollector(pid=lambda: pid, registry=None).collect()
    return {sample.name: sample.value for family in families for sample in family.samples}
