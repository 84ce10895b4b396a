"""Whatever becomes of one worker costs its own connections at most: another serves in its place, and soon."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from tests.fakes.endpoints import ScriptedEndpoint
from tests.fakes.stopwatch import Stopwatch
from tests.features.faults.crew import (
    Strike,
    TracedLoad,
    crewed,
    endpoint_of,
    line_to,
    sending,
    unexplained,
)
from tests.features.faults.crowds import closing, crowd
from tests.features.faults.http2_load import Http2Load
from tests.features.faults.load import Ledger, honest
from tests.features.faults.stage import Record, manifests
from tests.integration.processes import lives, workers
from tests.integration.running import started, until

pytestmark = [pytest.mark.faults, pytest.mark.alone]

_BUSY_SECONDS = 5.0  # what takes a fraction of one second may take this on a machine with other things to do
_PROVEN_SECONDS = 2.0  # of service, after which an end is no failed start
_HANG_SEEN_WITHIN_SECONDS = 5.0
_MANY = 4  # workers, so that the oldest has proven itself by the time it is its turn
_MANY_CONNECTIONS = 10_000
_AT_ONCE = 250  # connections, far from any backlog


@pytest.mark.parametrize(
    ("kills", "served_seconds", "within_seconds"),
    [(2, 0.0, _BUSY_SECONDS), pytest.param(10, _PROVEN_SECONDS, 1.0, marks=pytest.mark.slow)],
)
async def test_p01_a_killed_worker_takes_only_what_it_held_with_it(
    tmp_path: Path, kills: int, served_seconds: float, within_seconds: float, record_property: Record
) -> None:
    ledger, strikes, seconds = Ledger(), list[Strike](), list[float]()
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        crewed(tmp_path, {"app": [endpoint]}, ledger=ledger, http2_cleartext="true") as crew,
    ):
        kept, fresh, http2 = TracedLoad(crew.port), TracedLoad(crew.port, keeps=False), Http2Load(crew.port)
        async with sending((kept, 60), (fresh, 30), (http2, 30)):
            for _ in range(kills):
                await crew.has_served(crew.workers[0], seconds=served_seconds)
                strikes.append(crew.kill(crew.workers[0]))
                seconds.append(await crew.replaced(strikes[-1]))
        await crew.is_whole(2)
        restarts = await crew.counter("zonal_worker_restarts")
    loads = (kept, fresh, http2)
    record_property("seconds to a successor", ", ".join(f"{each:.2f}" for each in seconds))
    record_property("slowest answer", max(load.percentile_seconds(1.0) for load in loads))
    record_property("failed", f"{sum(len(load.failures) for load in loads)} of {sum(load.sent for load in loads)}")
    assert unexplained(loads, strikes) == [], [load.failures for load in loads]
    assert http2.answers
    assert max(seconds) <= within_seconds
    assert restarts == kills


@pytest.mark.slow
async def test_p03_the_others_get_the_news_while_one_hangs_and_its_successor_has_it(
    tmp_path: Path, record_property: Record
) -> None:
    ledger, rate = Ledger(), 40
    async with (
        ScriptedEndpoint(honest(ledger, "old")) as old,
        ScriptedEndpoint(honest(ledger, "new")) as new,
        crewed(tmp_path, {"app": [old]}, ledger=ledger) as crew,
    ):
        fresh = TracedLoad(crew.port, keeps=False)
        hung, free = crew.workers
        async with line_to(crew, free) as line, sending((fresh, rate)):
            assert await endpoint_of(line, "before") == "old"
            os.kill(hung, signal.SIGSTOP)
            stopped = crew.stopped(hung)
            await crew.change({"app": [new]})
            while await endpoint_of(line, "during") != "new":
                assert stopped.watch.within(1.0)
            assert lives(hung), "the news came while it hung"
            seconds = await crew.replaced(stopped)
        (successor,) = crew.successors(stopped)
        async with line_to(crew, successor) as line:
            assert await endpoint_of(line, "after") == "new"
    record_property("seconds to a successor", seconds)
    record_property("failed", f"{len(fresh.failures)} of {fresh.sent}")
    assert seconds <= _HANG_SEEN_WITHIN_SECONDS
    assert len(fresh.failures) <= rate * _HANG_SEEN_WITHIN_SECONDS / 2, "the share of one of two workers"


@pytest.mark.slow
async def test_p04_workers_end_with_their_parent(tmp_path: Path, record_property: Record) -> None:
    folder = manifests(tmp_path, {"app": []})
    async with started(folder.place, "--workers=2") as zonal:
        await zonal.is_serving()
        await zonal.is_ready()
        pids = workers(zonal.pid)
        assert len(pids) == 2
        zonal.tell(signal.SIGKILL)
        since_told = Stopwatch()
        await until(lambda: not any(map(lives, pids)), seconds=5.0)
        record_property("seconds", since_told.seconds)
        assert since_told.seconds <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize("kills", [20, 100])
async def test_p05_however_many_workers_end_none_stays_as_a_zombie(
    tmp_path: Path, kills: int, record_property: Record
) -> None:
    async with crewed(tmp_path, {"app": []}, ledger=Ledger(), count=_MANY) as crew:
        for _ in range(kills):
            await crew.has_served(crew.workers[0], seconds=_PROVEN_SECONDS)
            pid = crew.workers[0]
            os.kill(pid, signal.SIGKILL)
            await until(lambda pid=pid: pid not in crew.workers, seconds=5.0)  # type: ignore[misc]
            await crew.is_whole(_MANY)
        assert await crew.counter("zonal_worker_restarts") == kills
        record_property("descriptors", crew.descriptors())


@pytest.mark.parametrize("recycled", [2, pytest.param(20, marks=pytest.mark.slow)])
async def test_p14_recycling_workers_fails_no_request(tmp_path: Path, recycled: int, record_property: Record) -> None:
    ledger = Ledger()
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        crewed(tmp_path, {"app": [endpoint]}, ledger=ledger) as crew,
    ):
        kept, fresh = TracedLoad(crew.port), TracedLoad(crew.port, keeps=False)
        async with sending((kept, 80), (fresh, 40)):
            for _ in range(recycled):
                pid = crew.workers[0]
                os.kill(pid, signal.SIGTERM)
                await until(lambda pid=pid: not lives(pid), seconds=10.0)  # type: ignore[misc]
    record_property("slowest answer", max(load.percentile_seconds(1.0) for load in (kept, fresh)))
    assert kept.failures == fresh.failures == []


@pytest.mark.slow
async def test_p15_connections_are_spread_evenly(tmp_path: Path, record_property: Record) -> None:
    totals: Counter[int] = Counter()
    async with crewed(tmp_path, {"app": []}, ledger=Ledger()) as crew:
        for _ in range(_MANY_CONNECTIONS // _AT_ONCE):
            with closing(await crowd(crew.port, _AT_ONCE)):
                await until(lambda: crew.spread().total() == _AT_ONCE, seconds=10.0)
                totals += crew.spread()
            await until(lambda: crew.spread().total() == 0, seconds=10.0)
    record_property("connections", ", ".join(map(str, totals.values())))
    assert len(totals) == 2
    assert totals.total() == _MANY_CONNECTIONS
    assert max(totals.values()) <= 2 * min(totals.values())


async def test_a_crew_killed_while_idle_refuses_nobody(tmp_path: Path) -> None:
    ledger = Ledger()
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        crewed(tmp_path, {"app": [endpoint]}, ledger=ledger) as crew,
    ):
        for pid in crew.workers:
            os.kill(pid, signal.SIGKILL)
        load = TracedLoad(crew.port, keeps=False)
        await asyncio.gather(*(load.ask(1024) for _ in range(50)))  # the queues outlive those who took from them
    assert load.failures == []
