"""One process stands by: it takes the place of a worker that ends, with the newest publication, and is replaced."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import msgspec
import pytest

from balancer.connections.listeners import Port
from balancer.connections.tls import self_signed
from balancer.model.entry_points import HTTP, HTTPS, EntryPoint, Protocol
from balancer.model.publication import RoutingModel
from balancer.workers.lifecycle import Phase, Times
from balancer.workers.supervised import WorkerSettings
from balancer.workers.supervisor import FleetOptions, ProcessFleet
from tests import builders as build
from tests.fakes.sockets import until

FALLBACK = self_signed()
TIMES = Times(proof=0.05, first_pause=0.0, longest_pause=0.2)

# A place is taken within 50 ms on an idle machine. This many times longer is still less than the start of a process.
_PATIENCE_SECONDS = 0.25


def model(path: str) -> RoutingModel:
    return build.model(build.backend(), hosts=[build.host("shop.test", build.route(path))])


@asynccontextmanager
async def serving(count: int, times: Times = TIMES) -> AsyncIterator[ProcessFleet]:
    """A fleet that serves, with a process that stands by."""
    readers: list[int] = []

    def new_log() -> int:
        reader, writer = os.pipe()
        readers.append(reader)
        return writer

    fleet = ProcessFleet(
        FleetOptions(
            count=count,
            stands_by=True,
            address="127.0.0.1",
            ports=(Port("http", 0), Port("https", 0), Port("20000", 0)),
            settings=WorkerSettings(access_log_format="off", log_level="warning"),
            retire_limit_seconds=5.0,
        ),
        fallback=FALLBACK,
        new_log=new_log,
        times=times,
    )
    try:
        fleet.open()
        fleet.publish(build.publication(1, model("/one")))
        await fleet.start()
        await stands_by(fleet)
        yield fleet
    finally:
        await fleet.stop()
        for reader in readers:
            os.close(reader)


def standing(fleet: ProcessFleet) -> set[int]:
    """The processes that stand by."""
    return {
        each.pid for each in fleet._crew.workers if each.life.phase is Phase.STANDING_BY and not each.ended.is_set()
    }


def accepting(fleet: ProcessFleet) -> dict[int, int]:
    """The process of each place."""
    return {each.number: each.pid for each in fleet._crew.workers if each.life.is_accepting and not each.ended.is_set()}


def is_taken(fleet: ProcessFleet, number: int, pid: int) -> bool:
    return accepting(fleet).get(number) == pid


async def stands_by(fleet: ProcessFleet) -> None:
    await until(lambda: len(standing(fleet)) == 1 and fleet.readiness() is None)


async def status(fleet: ProcessFleet, path: str, name: str = "http") -> bytes:
    """503 if there is a route, for want of endpoints; else 404."""
    reader, writer = await asyncio.open_connection("127.0.0.1", fleet.ports[name])
    writer.write(b"GET %b HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n" % path.encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer[9:12]


async def test_it_takes_the_place_of_one_that_is_killed_and_another_one_stands_by() -> None:
    async with serving(2) as fleet:
        for number in (1, 0, 1):
            (ready,), before = standing(fleet), accepting(fleet)
            os.kill(before[number], signal.SIGKILL)
            await until(partial(is_taken, fleet, number, ready))
            assert accepting(fleet)[1 - number] == before[1 - number]
            assert {await status(fleet, "/one") for _ in range(20)} == {b"503"}
            await stands_by(fleet)


async def test_entry_points_of_gateways_come_to_workers_and_to_those_that_take_their_places() -> None:
    async with serving(2) as fleet:
        early = [asyncio.ensure_future(status(fleet, "/one", "20000")) for _ in range(8)]
        open_too = EntryPoint("gateway", Protocol.HTTP, 8080, "20000")
        opened = msgspec.structs.replace(model("/one"), entry_points=(open_too, HTTP, HTTPS))
        assert await status(fleet, "/one") == b"503"
        fleet.publish(build.publication(2, opened))
        assert await asyncio.gather(*early) == [b"503"] * 8
        (ready,), before = standing(fleet), accepting(fleet)
        os.kill(before[1], signal.SIGKILL)
        await until(partial(is_taken, fleet, 1, ready))
        assert {await status(fleet, "/one", "20000") for _ in range(20)} == {b"503"}
        fleet.publish(build.publication(3, model("/one")))
        await until(lambda: all(each.generation == 3 for each in fleet._crew.workers if each.life.is_accepting))
        for _ in range(8):
            with pytest.raises(ConnectionResetError):
                await status(fleet, "/one", "20000")


async def test_it_takes_the_place_of_one_that_retires() -> None:
    async with serving(1) as fleet:
        (ready,) = standing(fleet)
        os.kill(accepting(fleet)[0], signal.SIGTERM)
        await until(lambda: accepting(fleet) == {0: ready})
        assert await status(fleet, "/one") == b"503"


async def test_it_has_the_newest_publication_soon_after_it_takes_a_place() -> None:
    async with serving(1) as fleet:
        fleet.publish(build.publication(2, model("/two")))
        await until(lambda: all(each.generation == 2 for each in fleet._crew.accepting()))
        (ready,) = standing(fleet)
        os.kill(accepting(fleet)[0], signal.SIGKILL)
        await until(lambda: [(each.pid, each.generation) for each in fleet._crew.accepting()] == [(ready, 2)])
        assert await status(fleet, "/two") == b"503"


async def test_it_is_fed_although_nobody_ends() -> None:
    async with serving(1) as fleet:
        fleet.publish(build.publication(2, model("/two")))
        await until(lambda: {each.generation for each in fleet._crew.workers} == {2})
        assert len(standing(fleet)) == 1


async def test_it_does_not_count_in_reports() -> None:
    async with serving(1) as fleet:
        report = await fleet.report()
        assert len(report.connections) > 0
        assert all(each.last_report is None for each in fleet._crew.workers if each.pid in standing(fleet))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_another_one_stands_by_if_it_ends(number: signal.Signals) -> None:
    async with serving(1) as fleet:
        (ended,), before = standing(fleet), accepting(fleet)
        os.kill(ended, number)
        await until(lambda: standing(fleet) not in (set(), {ended}))
        assert accepting(fleet) == before


async def test_a_drain_ends_it_at_once() -> None:
    async with serving(1) as fleet:
        (ready,) = standing(fleet)
        draining = asyncio.ensure_future(fleet.drain(grace_seconds=30.0, limit_seconds=5.0))
        await until(lambda: ready not in {each.pid for each in fleet._crew.workers})
        assert await status(fleet, "/one") == b"503"
        draining.cancel()
        await asyncio.gather(draining, return_exceptions=True)


@pytest.mark.slow
@pytest.mark.alone
async def test_a_place_is_taken_within_a_twentieth_of_a_second() -> None:
    async with serving(1) as fleet:
        taken = []
        for _ in range(5):
            (ready,) = standing(fleet)
            began = time.monotonic()
            os.kill(accepting(fleet)[0], signal.SIGKILL)
            assert await status(fleet, "/one") == b"503"
            taken.append(time.monotonic() - began)
            assert accepting(fleet) == {0: ready}
            await stands_by(fleet)
        assert min(taken) < _PATIENCE_SECONDS, taken
