"""How names are looked up: in few threads, which are divided among tenants, and never longer than clients may wait."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from balancer.connections.names import Addresses, Names, NameTimes, system_look_up
from balancer.runtime.absences import Absences
from tests.fakes.sockets import until
from tests.fakes.stalls import stall

GOOD: Addresses = ((socket.AF_INET, "10.0.0.1"),)
OTHER: Addresses = ((socket.AF_INET, "10.0.0.2"),)


class Resolver:
    """Stands for the resolver of the system. Names with `hang` are not answered before `go_on`."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.answer: Addresses = GOOD
        self.is_silent = False
        self.go_on = threading.Event()

    def __call__(self, name: str) -> Addresses:
        self.asked[name] += 1
        if self.is_silent or "hang" in name:
            self.go_on.wait()
        if "bad" in name:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return self.answer

    @property
    def hanging(self) -> int:
        return sum(count for name, count in self.asked.items() if "hang" in name)


@pytest.fixture
def resolver() -> Iterator[Resolver]:
    stand_in = Resolver()
    yield stand_in
    stand_in.go_on.set()


async def test_a_name_is_looked_up_once_for_all_who_ask(resolver: Resolver) -> None:
    names = Names(look_up=resolver)
    assert await asyncio.gather(*(names.find("shop", "a.test") for _ in range(20))) == [GOOD] * 20
    assert await names.find("shop", "a.test") == GOOD
    assert resolver.asked == {"a.test": 1}


async def test_names_that_hang_take_the_share_of_their_tenant_and_nothing_of_another(resolver: Resolver) -> None:
    names = Names(NameTimes(look_ups=16), look_up=resolver)
    greedy = [asyncio.create_task(names.find("greedy", f"hang-{number}")) for number in range(100)]
    await until(lambda: resolver.hanging == 8)
    assert await names.find("modest", "a.test") == GOOD
    with pytest.raises(OSError, match="too many names"):
        await names.find("greedy", "a.test")
    assert resolver.hanging == 8
    for task in greedy:
        task.cancel()
    await asyncio.gather(*greedy, return_exceptions=True)


async def test_one_name_that_hangs_has_one_thread(resolver: Resolver) -> None:
    names = Names(NameTimes(wait=0.05), look_up=resolver)
    for _ in range(5):
        with pytest.raises(OSError, match="in time"):
            await names.find("shop", "hang")
    assert resolver.asked == {"hang": 1}
    assert await names.find("shop", "a.test") == GOOD


async def test_a_thread_is_free_again_when_the_resolver_answers_at_last(resolver: Resolver) -> None:
    names = Names(NameTimes(wait=0.05, look_ups=2), look_up=resolver)
    with pytest.raises(OSError, match="in time"):
        await names.find("shop", "hang")
    with pytest.raises(OSError, match="too many names"):
        await names.find("shop", "a.test")
    resolver.go_on.set()
    async with asyncio.timeout(5.0):
        while True:
            try:
                assert await names.find("shop", "a.test") == GOOD
                break
            except OSError:
                await asyncio.sleep(0)
    assert await names.find("shop", "hang") == GOOD


async def test_the_last_addresses_are_used_while_a_name_is_looked_up_again(resolver: Resolver) -> None:
    names = Names(NameTimes(fresh=0.0), look_up=resolver)
    assert await names.find("shop", "a.test") == GOOD
    resolver.is_silent, resolver.answer = True, OTHER
    assert await names.find("shop", "a.test") == GOOD
    assert await names.find("shop", "a.test") == GOOD
    await until(lambda: resolver.asked["a.test"] == 2)
    resolver.go_on.set()
    async with asyncio.timeout(5.0):
        while await names.find("shop", "a.test") != OTHER:  # noqa: ASYNC110 - what a thread has found
            await asyncio.sleep(0)


async def test_the_last_addresses_are_used_while_look_ups_fail_and_forgotten_in_the_end(resolver: Resolver) -> None:
    names = Names(NameTimes(fresh=0.0, quiet=0.0), look_up=resolver)
    assert await names.find("shop", "a.test") == GOOD
    resolver.answer = ()
    for _ in range(3):
        assert await names.find("shop", "a.test") == GOOD
    brief = Names(NameTimes(fresh=0.0, quiet=60.0, stale=0.0), look_up=resolver)
    resolver.answer = GOOD
    assert await brief.find("shop", "a.test") == GOOD
    resolver.answer = ()
    with pytest.raises(OSError, match="no address"):
        await brief.find("shop", "a.test")


async def test_a_failure_is_remembered_for_a_short_time(resolver: Resolver) -> None:
    quiet, restless = Names(look_up=resolver), Names(NameTimes(quiet=0.0), look_up=resolver)
    for _ in range(3):
        with pytest.raises(OSError, match="no such name"):
            await quiet.find("shop", "bad")
    assert resolver.asked == {"bad": 1}
    for _ in range(3):
        with pytest.raises(OSError, match="no such name"):
            await restless.find("shop", "bad")
    assert resolver.asked == {"bad": 4}


@pytest.mark.large
async def test_so_many_names_are_remembered_and_one_tenant_forgets_none_of_another(resolver: Resolver) -> None:
    names = Names(NameTimes(names=20), look_up=resolver)
    await names.find("modest", "a.test")
    for number in range(100):
        await names.find("greedy", f"{number}.test")
    await names.find("modest", "a.test")
    assert resolver.asked["a.test"] == 1
    await names.find("greedy", "0.test")
    assert resolver.asked["0.test"] == 2


@pytest.mark.parametrize("name", ["a" * 64 + ".test", "no-such-name.invalid"])
async def test_what_the_resolver_cannot_read_is_an_error(name: str) -> None:
    with pytest.raises(OSError, match=r".+"):
        await Names().find("shop", name)


def test_the_resolver_of_the_system_answers() -> None:
    assert (socket.AF_INET, "127.0.0.1") in system_look_up("127.0.0.1")


@pytest.mark.large
async def test_addresses_that_came_while_the_loop_was_held_are_in_time(resolver: Resolver) -> None:
    loop, absences = asyncio.get_running_loop(), Absences()
    names = Names(NameTimes(wait=0.2), look_up=resolver, absences=absences)
    absences.beat(loop.time(), 0.0)
    finding = asyncio.create_task(names.find("shop", "hang.test"))
    await until(lambda: resolver.hanging == 1)
    resolver.go_on.set()
    loop.call_soon(stall, 0.4)
    assert await finding == GOOD
