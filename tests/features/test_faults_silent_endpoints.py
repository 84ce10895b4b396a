"""Endpoints that fall silent cost requests a moment: pods that vanish in a rolling update, and a zone that is lost."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

import pytest

from tests.fakes.stopwatch import Stopwatch
from tests.features.faults.load import Answered, Ledger
from tests.features.faults.stage import Record, Stage, staged
from tests.features.faults.vanishing import Pod, Pods, getting
from tests.features.faults.versions import Pair, each_pair
from tests.integration.running import until

pytestmark = [pytest.mark.faults, pytest.mark.alone]

_RATE = 200
_ZONES = ("zone-a", "zone-b", "zone-c")
_LATE_SECONDS = 0.3  # until a slice says that a pod is gone
_LONGEST_SECONDS = 2.0
_BUSY_SECONDS = 4.0  # on a machine of which nothing is known: less than any time-out
_SETTLED_SECONDS, _WATCHED_SECONDS = 2.0, 3.0
_P99_SECONDS = 0.1
_WATCHED_GETS = 200
_EJECTION_SECONDS = 10.0  # the default of `ejection-time`


@asynccontextmanager
async def serving(place: Path, pair: Pair, zones: tuple[str, ...]) -> AsyncIterator[tuple[Stage, Pods, list[Pod]]]:
    """A process before a pod for each of `zones`, between which it makes no difference."""
    ledger = Ledger()
    pods = Pods(pair.version, ledger)
    try:
        started = [await pods.start(zone) for zone in zones]
        async with staged(
            place, {"app": started}, ledger=ledger, protocol=pair.version.protocol, http2_cleartext="true"
        ) as stage:
            yield stage, pods, started
    finally:
        await pods.close()


@each_pair
async def test_pods_that_vanish_in_a_rolling_update_fail_nothing(
    tmp_path: Path, record_property: Record, pair: Pair, judge_times: bool
) -> None:
    async with serving(tmp_path, pair, _ZONES) as (stage, pods, present):
        load = pair.load(stage)
        async with getting(load, rate=_RATE):
            await asyncio.sleep(0.5)  # all is well
            for old in tuple(present):
                present.append(await pods.start(old.zone))
                await stage.change({"app": present})
                await old.vanish()
                await asyncio.sleep(_LATE_SECONDS)
                present.remove(old)
                await stage.change({"app": present})
    slowest = max(answer.seconds for answer in load.answers)
    record_property("requests", len(load.answers))
    record_property("slowest in seconds", slowest)
    record_property("p99 in seconds", load.percentile_seconds(0.99))
    assert load.failures == [], stage.failed_lines()
    assert slowest < (_LONGEST_SECONDS if judge_times else _BUSY_SECONDS)


@pytest.mark.slow
@each_pair
async def test_a_zone_that_falls_silent_is_left_within_two_seconds(
    tmp_path: Path, record_property: Record, pair: Pair, judge_times: bool
) -> None:
    async with serving(tmp_path, pair, _ZONES * 2) as (stage, _, present):
        load = pair.load(stage)
        async with getting(load, rate=_RATE):
            await asyncio.sleep(1.0)  # all is well
            lost_at = time.monotonic()
            await asyncio.gather(*(pod.vanish() for pod in present if pod.zone == _ZONES[-1]))
            await asyncio.sleep(_SETTLED_SECONDS + _WATCHED_SECONDS)
    at_first = [answer for answer in load.answers if 0.0 <= answer.sent_at - lost_at < _SETTLED_SECONDS]
    later = [answer for answer in load.answers if answer.sent_at - lost_at >= _SETTLED_SECONDS]
    record_property("p99 in seconds at first", _p99_seconds(at_first))
    record_property("slowest in seconds at first", max(answer.seconds for answer in at_first))
    record_property("p99 in seconds later", _p99_seconds(later))
    assert load.failures == [], stage.failed_lines()
    assert _p99_seconds(later) < (_P99_SECONDS if judge_times else _BUSY_SECONDS)


@each_pair
async def test_a_machine_that_is_lost_with_its_connections_costs_a_get_a_moment(
    tmp_path: Path, record_property: Record, pair: Pair, judge_times: bool
) -> None:
    """Counts the GETs that met a lost pod, by the access log: how quick the others are says something of the machine.

    GETs meet the lost third until it is ejected. From then on one GET meets a lost pod in each time of ejection.
    """
    async with serving(tmp_path, pair, _ZONES * 2) as (stage, _, present):
        lost, load = present[:2], pair.load(stage)
        async with getting(load, rate=_RATE):
            await until(lambda: len({answer.endpoint for answer in load.answers}) == len(present), seconds=60.0)
            lost_at, watch = time.time(), Stopwatch()
            for pod in lost:
                pod.go_dark()
            while await _ejected(stage) < len(lost):
                assert watch.within(_SETTLED_SECONDS), "the lost pods are not ejected"
                await asyncio.sleep(0.01)
            ejected_at, answered = time.time(), len(load.answers)
            await until(lambda: len(load.answers) >= answered + _WATCHED_GETS, seconds=60.0)
            watched_seconds = time.time() - ejected_at
        slowest = max(answer.seconds for answer in load.answers)
        assert load.failures == [], stage.failed_lines()
        await until(lambda: len(stage.zonal.access_lines) >= len(load.answers), seconds=60.0)
        before, after = _met(stage, lost, lost_at, ejected_at), _met(stage, lost, ejected_at)
        logged = max(json.loads(line)["duration"] for line in stage.zonal.access_lines)
    record_property("slowest in seconds", slowest)
    record_property("slowest in seconds, by the clock of the access log", logged)
    record_property("seconds until both are ejected", ejected_at - lost_at)
    record_property("GETs that met a lost pod before, of all", before)
    record_property("GETs that met a lost pod later, of all", after)
    assert slowest < (_LONGEST_SECONDS if judge_times else _BUSY_SECONDS)
    assert before[0] <= before[1] / 2 + len(lost), "a third of them, however they are spread"
    assert after[0] <= len(lost) * (1 + watched_seconds // _EJECTION_SECONDS), "probes"


async def _ejected(stage: Stage) -> int:
    return sum(row["state"] == "ejected" for row in (await stage.zonal.model())["health"])


def _met(stage: Stage, lost: list[Pod], since: float, until: float = math.inf) -> tuple[int, int]:
    """The GETs that began between two times of the clock: those that tried a lost pod, and all."""
    places = {f"{pod.address}:{pod.port}" for pod in lost}
    lines = [json.loads(line) for line in stage.zonal.access_lines]
    began = [(datetime.fromisoformat(line["time"]).timestamp() - line["duration"], line) for line in lines]
    tried = [line["endpoints"] for at, line in began if since <= at < until]
    return sum(not places.isdisjoint(each) for each in tried), len(tried)


def _p99_seconds(answers: list[Answered]) -> float:
    times = sorted(answer.seconds for answer in answers)
    return times[len(times) * 99 // 100]
