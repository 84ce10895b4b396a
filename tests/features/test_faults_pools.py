"""Kept connections to endpoints: closed by the endpoint, moved to another Service, or far too many."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from tests.fakes.endpoints import Script, ScriptedEndpoint, Visit
from tests.fakes.sockets import until
from tests.fakes.stopwatch import Stopwatch
from tests.features.faults.load import Ledger, answer_to, honest
from tests.features.faults.stage import Place, staged

pytestmark = [pytest.mark.faults, pytest.mark.alone]


def closing_idle(ledger: Ledger, seconds: float) -> Script:
    """Answer, and close a connection on which nothing has come for `seconds` after an answer."""

    async def script(visit: Visit) -> None:
        asked = await ledger.take(visit)
        while True:
            await visit.send(answer_to(asked, "closing"))
            try:
                async with asyncio.timeout(seconds):
                    asked = await ledger.take(visit)
            except TimeoutError:
                return

    return script


async def _race(place: Path, *, idle_seconds: float, waves: int, width: int) -> tuple[list[str], int]:
    """Waves of requests that come just when the endpoint closes its idle connections: failures, and answers."""
    ledger = Ledger()
    async with (
        ScriptedEndpoint(closing_idle(ledger, idle_seconds)) as endpoint,
        staged(place, {"app": [endpoint]}, ledger=ledger, upstream_keepalive_timeout="5") as stage,
    ):
        load = stage.load()
        for number in range(waves):
            started = time.monotonic()
            await load.wave(width, posts=number % 2 == 1)
            answered = time.monotonic()
            jitter = (number % 5 - 2) / 1000
            await asyncio.sleep(idle_seconds + jitter - (answered - started) / 2)
        load.close()
    return load.failures, len(load.answers)


async def test_u07_a_lost_race_costs_no_get_and_sends_no_post_twice(tmp_path: Path) -> None:
    ledger = Ledger()
    stale: list[bytes] = []

    async def once(visit: Visit) -> None:
        """Reset at the second request: what a client sees that writes just when the endpoint closes."""
        await visit.send(answer_to(await ledger.take(visit), "once"))
        if data := await visit.some():
            stale.append(data[:4])
            visit.reset()

    async with (
        ScriptedEndpoint(once) as endpoint,
        staged(tmp_path, {"app": [endpoint]}, ledger=ledger, upstream_keepalive_timeout="2") as stage,
    ):
        gets, rested, hasty = stage.load(), stage.load(), stage.load()
        await gets.wave(20, posts=False)
        await gets.wave(20, posts=False)
        assert stale.count(b"GET ") == 20
        await asyncio.sleep(0.6)
        await rested.wave(20, posts=True)
        await hasty.wave(20, posts=True)
        for load in (gets, rested, hasty):
            load.close()
    assert gets.failures == rested.failures == []
    assert stale.count(b"POST") == len(hasty.failures)
    assert all("status 502" in failure for failure in hasty.failures)
    assert ledger.posts.total() == 40 - len(hasty.failures)


@pytest.mark.slow
async def test_u07_no_request_is_lost_in_ten_thousand_races(tmp_path: Path) -> None:
    failures, answers = await _race(tmp_path, idle_seconds=1.0, waves=40, width=250)
    assert (failures, answers) == ([], 10_000)


@pytest.mark.slow
async def test_u20_an_address_that_moves_to_another_service_answers_no_request_of_the_old_one(tmp_path: Path) -> None:
    ledger = Ledger()
    under_way: set[int] = set()

    async def tracked(visit: Visit) -> None:
        under_way.add(visit.number)
        try:
            await honest(ledger, "moved")(visit)
        finally:
            under_way.discard(visit.number)

    async with (
        ScriptedEndpoint(tracked) as moved,
        ScriptedEndpoint(honest(ledger, "stays")) as stays,
        ScriptedEndpoint(honest(ledger, "new")) as new,
        staged(
            tmp_path, {"app": [moved, stays], "other": [new]}, ledger=ledger, upstream_keepalive_timeout="30"
        ) as stage,
    ):
        load, other = stage.load(), stage.load(prefix="/other")
        await load.wave(30, posts=False)
        loading = asyncio.create_task(load.steady(rate=100, seconds=2.0))
        await stage.change({"app": [stays], "other": [moved]})
        changed_at = time.monotonic()
        await until(lambda: not under_way)
        before = len(moved.visits)
        await other.wave(20, posts=False)
        await loading
        other.close()
        await stage.change({"app": [], "other": []})  # closes what would idle for half a minute
    assert load.failures == other.failures == []
    assert {answer.endpoint for answer in load.answers if answer.sent_at <= changed_at} == {"moved", "stays"}
    assert {answer.endpoint for answer in load.answers if answer.sent_at > changed_at} == {"stays"}
    assert {answer.endpoint for answer in other.answers} == {"moved"}
    assert len(moved.visits) > before, "on connections of its own"


async def test_u24_idle_connections_to_a_thousand_endpoints_stay_within_their_limit(tmp_path: Path) -> None:
    ledger, limit = Ledger(), 100
    async with ScriptedEndpoint(honest(ledger), address="0.0.0.0") as everywhere:
        places = [Place(f"127.1.{number // 250}.{number % 250 + 1}", everywhere.port) for number in range(1000)]
        async with staged(tmp_path, {"app": places}, ledger=ledger, upstream_keepalive_connections=str(limit)) as stage:
            load = stage.load()
            most = 0
            for _ in range(20):
                await load.wave(50, posts=False)
                most = max(most, await stage.connections("endpoint_idle"))
            watch = Stopwatch()
            while await stage.connections("endpoint_idle"):
                assert watch.within(1.0 + 5.0)
            load.close()
    assert load.failures == []
    assert 0 < most <= limit
    assert len(everywhere.visits) == 1000, "each endpoint was asked once"
