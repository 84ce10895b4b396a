"""A tenant that changes thousands of hosts all the time delays no change of another tenant."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path

import pytest

from tests.features.cluster.stage import Stage, answers, staged
from tests.integration.manifests import Document, endpoint_slice, ingress, ingress_class, path, rule, service
from tests.integration.running import Zonal

pytestmark = pytest.mark.faults

_HOSTS = 5000
_PAUSE_SECONDS = 0.2  # of the greedy tenant between two changes
_CHANGES = 6
_AT_MOST_SECONDS = 1.0


def _greedy(turn: int) -> Document:
    rules = (rule(f"{number}.greedy.test", path(f"/1024/{turn}", "cart")) for number in range(_HOSTS))
    return ingress("web", *rules, namespace="greedy")


def _modest(turn: int) -> Document:
    return ingress("web", rule("modest.test", path(f"/1024/{turn}", "cart")), namespace="modest")


@asynccontextmanager
async def _changing(stage: Stage, turns: count[int]) -> AsyncIterator[None]:
    """The greedy tenant changes all of its hosts, again and again."""

    async def change() -> None:
        while True:
            stage.put(_greedy(next(turns)))
            await asyncio.sleep(_PAUSE_SECONDS)

    task = asyncio.create_task(change())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _take(stage: Stage, zonal: Zonal, turns: count[int]) -> list[float]:
    """How many seconds changes of the modest tenant take until its requests are served by them."""
    taken = []
    for _ in range(_CHANGES):
        turn = next(turns)
        stage.put(_modest(turn))
        started = time.perf_counter()
        await answers(zonal, 200, "modest.test", f"/1024/{turn}")
        taken.append(time.perf_counter() - started)
        await asyncio.sleep(_PAUSE_SECONDS)
    return taken


async def test_changes_of_a_modest_tenant_come_beside_those_of_thousands_of_hosts(
    tmp_path: Path, judge_times: bool
) -> None:
    turns = count(1)
    async with staged(tmp_path) as stage:
        cart = await stage.endpoint()
        stage.put(ingress_class())
        for namespace in ("greedy", "modest"):
            stage.put(service("cart", namespace=namespace), endpoint_slice(cart, namespace=namespace))
        stage.settings()
        stage.put(_greedy(0), _modest(0))
        zonal = await stage.ready("--workers=1", scale=1.0)
        alone = await _take(stage, zonal, turns)
        async with _changing(stage, turns):
            await answers(zonal, 404, f"{_HOSTS - 1}.greedy.test", "/1024/0")
            beside = await _take(stage, zonal, turns)
        last = next(turns)
        stage.put(_greedy(last))
        await answers(zonal, 200, f"{_HOSTS - 1}.greedy.test", f"/1024/{last}")
        if judge_times:
            assert statistics.median(beside) <= max(_AT_MOST_SECONDS, 2 * statistics.median(alone))
