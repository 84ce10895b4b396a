"""A thousand changes each second beside a load, against as many changes of what nobody follows.

Responsible for the pace of changes and for what is said of them. It must not know what changes, nor who asks.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator

import msgspec

from tests.bench.control.cluster import unfollowed
from tests.bench.control.figures import Figure, percentile, ratio
from tests.bench.control.load import Latencies
from tests.bench.control.processes import Usage, usage
from tests.fakes.apiserver import ApiServer

CHANGES_PER_SECOND = 1000
_TICK_SECONDS = 0.01
_UNFOLLOWED = 5000

Changes = Iterator[Callable[[], object]]
"""Each call changes one object."""


class Beside(msgspec.Struct, frozen=True):
    """What became of the requests, and the cores that control process and workers used meanwhile."""

    latencies: Latencies
    cores: Usage


async def load_beside(
    changes: Changes, load: Callable[[], Awaitable[Latencies]], pid: int, *, rate: float = CHANGES_PER_SECOND
) -> Beside:
    """A load while `rate` objects change each second. `pid` is that of the control process."""
    storming = asyncio.create_task(_change(changes, rate))
    before, started = usage(pid), time.monotonic()
    latencies = await load()
    used, lasted = usage(pid).since(before), time.monotonic() - started
    storming.cancel()
    await asyncio.gather(storming, return_exceptions=True)
    return Beside(latencies, Usage(used.control / lasted, used.workers / lasted))


async def _change(changes: Changes, rate: float) -> None:
    started, count = time.monotonic(), 0
    while True:
        due = int((time.monotonic() - started) * rate)
        for _ in range(due - count):
            next(changes)()
            os.sched_yield()  # to the endpoints and the clients, which share this core
        count = due
        await asyncio.sleep(_TICK_SECONDS)


def unfollowed_changes(server: ApiServer) -> Changes:
    """Changes of objects that no process follows. They cost the API server as much."""
    turn = 0
    while True:
        turn += 1
        for number in range(_UNFOLLOWED):
            yield lambda number=number, turn=turn: server.put(unfollowed(number, turn))  # type: ignore[misc]


def storm_figures(what: str, quiet: list[Latencies], stormy: list[Beside], load: str) -> list[Figure]:
    """What a storm of `what` cost, and what it did to requests. `load` says what these were."""
    loads = [each.latencies for each in stormy]
    before, during = _p99(quiet), _p99(loads)
    return [
        Figure(
            name=f"{what}: control process",
            value=statistics.mean(each.cores.control for each in stormy),
            unit="cores",
            bar=1.0,
            detail=f"workers {statistics.mean(each.cores.workers for each in stormy):.2f} cores; with {load}",
        ),
        Figure(
            name=f"{what}: failed requests",
            value=sum(each.failed for each in loads),
            unit="",
            bar=0,
            detail=f"of {sum(each.sent for each in loads):,}",
        ),
        Figure(
            name=f"{what}: p99 of requests against quiet",
            value=ratio(during, before),
            unit="times",
            bar=2.0,
            detail=f"{before:.1f} → {during:.1f} ms, p50 {_p50(quiet):.1f} → {_p50(loads):.1f} ms, "
            f"late {_late(quiet):.1f} → {_late(loads):.1f} ms; quiet: as many updates of what is not followed",
        ),
    ]


def _p99(latencies: list[Latencies]) -> float:
    return percentile([each.p99 for each in latencies], 0.5)


def _p50(latencies: list[Latencies]) -> float:
    return percentile([each.p50 for each in latencies], 0.5)


def _late(latencies: list[Latencies]) -> float:
    return max(each.late for each in latencies)
