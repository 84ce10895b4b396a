"""Names that Services stand for: looked up while they are wanted, and their last addresses kept."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from ingress.sources.contract import Wanted
from ingress.sources.events import Event, SourceFindings
from ingress.sources.inventory import Inventory
from ingress.sources.resolving import ResolvingSource
from tests.fakes.sockets import until

NAME = "api.example.com"
WANTED = frozenset({("shop", NAME)})


class Quiet:
    """A source that says one thing and then waits, until it is told to end."""

    def __init__(self) -> None:
        self.end = asyncio.Event()

    async def events(self) -> AsyncGenerator[Event, None]:
        yield SourceFindings("quiet", ())
        await self.end.wait()

    def want(self, wanted: Wanted) -> bool:
        return True


class Names:
    """What the resolver would say: addresses, or that there are none. Names but `NAME` are silent before `silence`."""

    def __init__(self) -> None:
        self.addresses: tuple[str, ...] | None = ("192.0.2.1",)
        self.error: Exception = OSError(-2, "Name or service not known")
        self.asked = 0
        self.silence = threading.Event()

    def look_up(self, name: str) -> tuple[str, ...]:
        if name != NAME:
            self.silence.wait()
        self.asked += 1
        if self.addresses is None or isinstance(self.error, UnicodeError):
            raise self.error
        return self.addresses


@asynccontextmanager
async def following(names: Names) -> AsyncIterator[tuple[ResolvingSource, Inventory]]:
    quiet, inventory = Quiet(), Inventory()
    source = ResolvingSource(quiet, look_up=names.look_up, refresh_seconds=0.01)

    async def apply() -> None:
        async for event in source.events():
            inventory.apply(event)

    running = asyncio.create_task(apply())
    yield source, inventory
    quiet.end.set()
    await running


async def test_a_wanted_name_is_looked_up_again_and_again() -> None:
    names = Names()
    async with following(names) as (source, inventory):
        assert not source.want(Wanted(names=WANTED))
        await until(lambda: inventory.addresses("shop", NAME) == ("192.0.2.1",))
        assert source.want(Wanted(names=WANTED))
        names.addresses = ("192.0.2.2", "192.0.2.3")
        await until(lambda: inventory.addresses("shop", NAME) == ("192.0.2.2", "192.0.2.3"))


async def test_nobody_waits_for_a_name_that_cannot_be_looked_up_and_a_finding_says_so() -> None:
    names = Names()
    names.error = UnicodeError("label too long")
    async with following(names) as (source, inventory):
        wanted = Wanted(names=WANTED)
        await until(lambda: source.want(wanted) and bool(inventory.findings))
        (finding,) = inventory.findings
        assert (finding.reason, finding.name) == ("NameNotResolved", NAME)
        assert "UnicodeError" in finding.message


async def test_the_last_addresses_stay_when_the_resolver_fails_and_a_finding_says_so() -> None:
    names = Names()
    async with following(names) as (source, inventory):
        source.want(Wanted(names=WANTED))
        await until(lambda: inventory.addresses("shop", NAME) == ("192.0.2.1",))
        names.addresses = None
        await until(lambda: [finding.reason for finding in inventory.findings] == ["NameNotResolved"])
        assert inventory.addresses("shop", NAME) == ("192.0.2.1",)
        names.addresses = ("192.0.2.9",)
        await until(lambda: inventory.findings == ())


async def test_a_name_that_never_resolves_holds_nothing_up() -> None:
    names = Names()
    names.addresses = None
    async with following(names) as (source, _):
        await until(lambda: source.want(Wanted(names=WANTED)))


async def test_a_name_that_is_not_wanted_any_more_is_not_looked_up() -> None:
    names = Names()
    async with following(names) as (source, _):
        source.want(Wanted(names=WANTED))
        await until(lambda: names.asked > 1)
        await until(lambda: source.want(Wanted()))
        asked = names.asked
        for _ in range(20):
            await asyncio.sleep(0)
        assert names.asked <= asked + 1


async def test_addresses_of_a_name_belong_to_the_namespaces_that_want_it_and_are_forgotten_with_it() -> None:
    names = Names()
    async with following(names) as (source, inventory):
        both = Wanted(names=WANTED | {("other", NAME)})
        await until(lambda: source.want(both) and inventory.addresses("other", NAME) == ("192.0.2.1",))
        await until(lambda: source.want(Wanted(names=WANTED)) and not inventory.addresses("other", NAME))
        assert inventory.addresses("shop", NAME) == ("192.0.2.1",)


@pytest.mark.large
async def test_silent_names_of_a_namespace_leave_another_its_addresses_and_its_models(silence: threading.Event) -> None:
    names = Names()
    names.silence = silence
    greedy = frozenset(("greedy", f"silent-{number}.test") for number in range(100))
    async with following(names) as (source, inventory):
        await until(lambda: source.want(Wanted(names=WANTED)))
        assert not source.want(Wanted(names=WANTED | greedy))
        names.addresses = ("192.0.2.2",)
        await until(lambda: inventory.addresses("shop", NAME) == ("192.0.2.2",))
        await until(lambda: source.want(Wanted(names=WANTED | greedy)))
        silence.set()


@pytest.fixture
def silence() -> Iterator[threading.Event]:
    ends = threading.Event()
    yield ends
    ends.set()
