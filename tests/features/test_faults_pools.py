"""Kept connections to endpoints: closed by the endpoint, moved to another Service, or far too many."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from tests.fakes.endpoints import Script, ScriptedEndpoint, Visit
from tests.fakes.sockets import until
from tests.fakes.stopwatch import Stopwatch
from tests.features.faults.http2_endpoints import IdleClosingEndpoint
from tests.features.faults.load import Ledger, answer_to, honest
from tests.features.faults.stage import Place, staged
from tests.features.faults.versions import HTTP2, Pair, each_pair

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
        await asyncio.sleep(0.6)  # more than the rest after which a POST may not use a kept connection
        await rested.wave(20, posts=True)
        await hasty.wave(20, posts=True)
        for load in (gets, rested, hasty):
            load.close()
    assert gets.failures == rested.failures == []
    assert stale.count(b"POST") == len(hasty.failures)
    assert all("status 502" in failure for failure in hasty.failures)
    assert ledger.posts.total() == 40 - len(hasty.failures)


@pytest.mark.parametrize("is_http2", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["HTTP/1.1", "HTTP/2"])
@pytest.mark.parametrize("says_goodbye", [True, False], ids=["GOAWAY", "cut"])
async def test_u07_a_shared_connection_that_its_endpoint_closes_costs_no_get_and_sends_no_post_twice(
    tmp_path: Path, *, is_http2: bool, says_goodbye: bool
) -> None:
    """The endpoint closes just as requests come. Who says goodbye says which of them it has not taken."""
    ledger, idle_seconds = Ledger(), 0.2
    async with (
        IdleClosingEndpoint(honest(ledger), seconds=idle_seconds, says_goodbye=says_goodbye) as endpoint,
        staged(tmp_path, {"app": [endpoint]}, ledger=ledger, protocol="GRPC", http2_cleartext="true") as stage,
    ):
        pair = Pair(is_http2, HTTP2)
        gets, posts = pair.load(stage), pair.load(stage)
        for number in range(30):
            load = posts if number % 2 else gets
            await load.wave(10, posts=number % 2 == 1)
            await asyncio.sleep(idle_seconds + (number % 7 - 3) / 1000)
        gets.close()
        posts.close()
    assert gets.failures == []
    assert all("status 502" in failure for failure in posts.failures)
    assert not (says_goodbye and posts.failures)


@pytest.mark.slow
async def test_u07_no_request_is_lost_in_ten_thousand_races(tmp_path: Path) -> None:
    failures, answers = await _race(tmp_path, idle_seconds=1.0, waves=40, width=250)
    assert (failures, answers) == ([], 10_000)


@pytest.mark.slow
@each_pair
async def test_u20_an_address_that_moves_to_another_service_answers_no_request_of_the_old_one(
    tmp_path: Path, pair: Pair
) -> None:
    ledger, version = Ledger(), pair.version
    under_way: set[int] = set()

    async def tracked(visit: Visit) -> None:
        under_way.add(visit.number)
        try:
            await honest(ledger, "moved")(visit)
        finally:
            under_way.discard(visit.number)

    async with (
        version.endpoint(tracked) as moved,
        version.endpoint(honest(ledger, "stays")) as stays,
        version.endpoint(honest(ledger, "new")) as new,
        staged(
            tmp_path,
            {"app": [moved, stays], "other": [new]},
            ledger=ledger,
            protocol=version.protocol,
            upstream_keepalive_timeout="30",
            http2_cleartext="true",
        ) as stage,
    ):
        load, other = pair.load(stage), pair.load(stage, prefix="/other")
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


@each_pair
async def test_u24_idle_connections_to_a_thousand_endpoints_stay_within_their_limit(tmp_path: Path, pair: Pair) -> None:
    ledger, limit, version = Ledger(), 100, pair.version
    async with version.endpoint(honest(ledger), address="0.0.0.0") as everywhere:
        places = [Place(f"127.1.{number // 250}.{number % 250 + 1}", everywhere.port) for number in range(1000)]
        async with staged(
            tmp_path,
            {"app": places},
            ledger=ledger,
            protocol=version.protocol,
            upstream_keepalive_connections=str(limit),
            http2_cleartext="true",
        ) as stage:
            load = pair.load(stage)
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
    # A connection without a byte only asks whether the endpoint is there (ADR 25).
    assert sum(visit.heads for visit in everywhere.visits) == 1000
    assert {visit.heads for visit in everywhere.visits} <= {0, 1}, "each endpoint was asked once"
