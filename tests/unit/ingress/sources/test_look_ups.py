"""Look-ups run in threads of their own, which are divided among namespaces."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from ingress.sources.look_ups import LookUps, system_look_up
from tests.fakes.sockets import until


class Resolver:
    """Stands for the resolver of the system. Names with `silent` are not answered before `go_on`."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.go_on = threading.Event()

    def __call__(self, name: str) -> tuple[str, ...]:
        self.asked[name.partition("-")[0]] += 1
        if "silent" in name:
            self.go_on.wait()
        if "bad" in name:
            raise OSError(-2, "Name or service not known")
        return ("192.0.2.1",)


@pytest.fixture
def resolver() -> Iterator[Resolver]:
    stand_in = Resolver()
    yield stand_in
    stand_in.go_on.set()


async def test_silent_names_take_no_place_of_another_namespace_and_no_thread_of_the_loop(resolver: Resolver) -> None:
    look_ups = LookUps(resolver, at_once=8)
    greedy = [asyncio.create_task(look_ups.find("greedy", f"silent-{number}")) for number in range(100)]
    await until(lambda: resolver.asked["silent"] == 4)
    for _ in range(20):
        assert await look_ups.find("modest", "a.test") == ("192.0.2.1",)
        assert await asyncio.to_thread(lambda: True)
    assert resolver.asked["silent"] == 4
    for each in greedy[50:]:
        each.cancel()
    resolver.go_on.set()
    assert await asyncio.gather(*greedy[:50]) == [("192.0.2.1",)] * 50
    assert resolver.asked["silent"] == 50


async def test_nobody_waits_longer_than_a_look_up_may_take_and_it_keeps_its_place(resolver: Resolver) -> None:
    look_ups = LookUps(resolver, at_once=2, seconds=0.01)
    with pytest.raises(TimeoutError):
        await look_ups.find("shop", "silent-0")
    waiting = asyncio.create_task(look_ups.find("shop", "a.test"))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(waiting), 0.05)
    resolver.go_on.set()
    assert await waiting == ("192.0.2.1",)


async def test_a_failure_is_told(resolver: Resolver) -> None:
    with pytest.raises(OSError, match="not known"):
        await LookUps(resolver).find("shop", "bad")


def test_a_name_that_dns_cannot_have_has_no_addresses() -> None:
    with pytest.raises(OSError, match="no name that DNS can have"):
        system_look_up(f"{'x' * 64}.test")


def test_the_system_knows_localhost() -> None:
    assert {"127.0.0.1", "::1"} & set(system_look_up("localhost"))
