"""A real server counts limits of everybody who asks it; without one, limits hold as before."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from balancer.connections.limit_stores import StoreUnusable, ValkeyStore, url_at, url_in
from balancer.sharing.rates import Schedule
from tests.fakes.limit_server import SERVER, WITHOUT, LimitServer, limit_server
from tests.fakes.sockets import PATIENCE_SECONDS
from tests.fakes.stopwatch import Stopwatch

pytestmark = pytest.mark.large

needs_server = pytest.mark.skipif(SERVER is None, reason=WITHOUT)
ONE_A_MINUTE = Schedule(60 * 10**9, 4 * 60 * 10**9)  # with a burst of 4
TWO_A_HOUR = Schedule(1800 * 10**9, 2 * 1800 * 10**9)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[LimitServer]:
    async with limit_server(tmp_path) as made:
        yield made


async def asked(store: ValkeyStore, key: bytes, *schedules: Schedule) -> bool | None:
    """The answer about one request; None if the store is away."""
    answer: asyncio.Future[bool | None] = asyncio.get_running_loop().create_future()
    keys = [key + b":%d" % number for number in range(len(schedules))]
    return None if store.ask("shop", keys, schedules, answer.set_result) is None else await answer


async def answered(store: ValkeyStore, key: bytes, *schedules: Schedule) -> bool:
    """The answer, asked again while a busy machine is late."""
    watch = Stopwatch()
    while (found := await asked(store, key, *schedules)) is None:
        assert watch.within(PATIENCE_SECONDS)
        await asyncio.sleep(0.05)
    return found


@needs_server
async def test_two_who_ask_have_one_limit_exactly(served: LimitServer) -> None:
    outcomes = Counter[str]()
    stores = [ValkeyStore(served.url, lambda outcome: outcomes.update([outcome])) for _ in range(2)]
    try:
        await answered(stores[0], b"warm", ONE_A_MINUTE)
        await answered(stores[1], b"warm", ONE_A_MINUTE)
        before = outcomes["passed"]
        found = [await answered(stores[number % 2], b"k", ONE_A_MINUTE) for number in range(20)]
    finally:
        for store in stores:
            await store.close()
    # A question that was late may have counted, and nobody heard of it.
    assert found.count(True) <= 5
    assert found.count(True) == 5 or outcomes["late"]
    assert outcomes["passed"] - before == found.count(True)
    assert outcomes["refused"] >= 15 - outcomes["late"]


@needs_server
async def test_a_request_counts_at_all_rates_or_at_none(served: LimitServer) -> None:
    store = ValkeyStore(served.url, lambda _: None)
    try:
        found = [await answered(store, b"both", ONE_A_MINUTE, TWO_A_HOUR) for _ in range(8)]
        alone = [await answered(store, b"both", ONE_A_MINUTE) for _ in range(4)]
    finally:
        await store.close()
    assert found.count(True) <= 3
    assert alone.count(True) <= 2, "three of the five have passed before, and refused ones have not counted"


@needs_server
async def test_a_server_that_goes_away_is_not_asked_for_a_while(served: LimitServer) -> None:
    outcomes = Counter[str]()
    store = ValkeyStore(served.url, lambda outcome: outcomes.update([outcome]))
    try:
        assert await answered(store, b"k", ONE_A_MINUTE)
        served.stop()
        watch = Stopwatch()
        while await asked(store, b"k", ONE_A_MINUTE) is not None:
            assert watch.within(PATIENCE_SECONDS)
        assert outcomes["late"] >= 1
        assert store.ask("shop", [b"k"], [ONE_A_MINUTE], lambda _: None) is None
        assert outcomes["away"] >= 1
    finally:
        await store.close()


@needs_server
async def test_who_has_left_hears_nothing(served: LimitServer) -> None:
    store, told = ValkeyStore(served.url, lambda _: None), list[bool | None]()
    waiting = store.ask("shop", [b"k"], [ONE_A_MINUTE], told.append)
    assert waiting is not None
    waiting.cancel()
    await answered(store, b"other", ONE_A_MINUTE)
    await store.close()
    assert told == []


async def test_a_namespace_that_asks_without_end_leaves_room_for_others() -> None:
    outcomes = Counter[str]()
    store = ValkeyStore("valkey://127.0.0.1:1/0", lambda outcome: outcomes.update([outcome]))

    def asks(namespace: str) -> bool:
        return store.ask(namespace, [b"k"], [ONE_A_MINUTE], lambda _: None) is not None

    asked_at_once = 0
    while asks("greedy"):
        asked_at_once += 1
    assert asks("modest")
    assert not asks("greedy")
    assert 0 < asked_at_once <= 128
    assert outcomes == {"away": 2}
    await store.close()


@needs_server
async def test_a_flood_of_one_namespace_is_no_reason_to_ask_nobody(served: LimitServer) -> None:
    outcomes = Counter[str]()
    store = ValkeyStore(served.url, lambda outcome: outcomes.update([outcome]))
    try:
        await answered(store, b"warm", ONE_A_MINUTE)
        outcomes.clear()
        flood = (store.ask("greedy", [b"%d" % number], [ONE_A_MINUTE], lambda _: None) for number in range(100))
        assert None not in flood
        told: asyncio.Future[bool | None] = asyncio.get_running_loop().create_future()
        assert store.ask("modest", [b"m"], [ONE_A_MINUTE], told.set_result) is not None
        before = sum(outcomes.values())
        await told
        assert sum(outcomes.values()) - before < 60, "the modest namespace waits for a few of the others"
    finally:
        await store.close()


def test_a_file_names_the_store_and_no_message_holds_what_it_says(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text("valkey://:secret@127.0.0.1:6379/0\n")
    assert url_in(str(file)) == "valkey://:secret@127.0.0.1:6379/0"
    assert url_at("") == ""
    for text in ("http://:secret@127.0.0.1", "", "valkey://:secret@127.0.0.1:port/0"):
        file.write_text(text)
        with pytest.raises(StoreUnusable) as problem:
            url_in(str(file))
        assert "secret" not in str(problem.value)
        assert url_at(str(file)) == ""
    with pytest.raises(StoreUnusable, match="No such file"):
        url_in(str(tmp_path / "missing"))
