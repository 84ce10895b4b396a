"""A fleet of processes stays as large as it should be, whatever becomes of its processes; nothing counted is lost."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from balancer.connections.listeners import Port
from balancer.connections.tls import self_signed
from balancer.explain.asking import BadQuestion
from balancer.metrics.definitions import REQUESTS, WORKER_RESTARTS
from balancer.metrics.kinds import Definition
from balancer.metrics.recorder import NUMBERS
from balancer.metrics.slots import read
from balancer.workers.fleet import Fleet, NoAnswer
from balancer.workers.lifecycle import Times
from balancer.workers.messages import Accepting, Retiring
from balancer.workers.spawning import worker_command
from balancer.workers.supervised import Command, WorkerSettings
from balancer.workers.supervisor import FleetOptions, ProcessFleet
from tests import builders as build
from tests.fakes.sockets import PATIENCE_SECONDS, until
from tests.integration import processes
from tests.unit.balancer.workers.standins import QUICK, standin

MODEL = build.model(build.backend(), hosts=[build.host("shop.test", build.route("/"))])
FALLBACK = self_signed()


_children_of_others: set[int] = set()


def note_children_of_others() -> None:
    """What tests of other files have started stays out of `children` from now on, and what they left is closed."""
    gc.collect()  # or a loop that nobody refers to any more would be closed amid the next test
    _children_of_others.clear()
    _children_of_others.update(children())


@pytest.fixture(autouse=True)
def _ours_are_the_only_ones() -> None:
    note_children_of_others()


def children() -> set[int]:
    """The processes that the fleet of this test has started and nobody has reaped."""
    return {*processes.children(os.getpid())} - _children_of_others


def descriptors() -> list[str]:
    """What we have open, but for counter tables: those stay for as long as somebody may read them."""
    own = Path("/proc/self/fd")
    names = (os.readlink(each) for each in own.iterdir() if os.path.lexists(each))
    return sorted(name for name in names if not name.startswith(("/memfd:", "/proc/")))


def sockets() -> int:
    return sum(name.startswith("socket:") for name in descriptors())


def counted(fleet: Fleet, definition: Definition) -> float:
    number = NUMBERS[definition.name]
    return sum(entry.values[0] for table in fleet.tables() for entry in read(table) if entry.key.metric == number)


@asynccontextmanager
async def fleet_of(
    count: int, *, command: Command = worker_command, times: Times | None = None, http_port: int = 0
) -> AsyncIterator[ProcessFleet]:
    """A fleet that was opened; nothing of it is left afterwards."""
    readers: list[int] = []

    def new_log() -> int:
        reader, writer = os.pipe()
        readers.append(reader)
        return writer

    gc.collect()  # what earlier tests have left open is no descriptor of this fleet
    before = descriptors()
    fleet = ProcessFleet(
        FleetOptions(
            count=count,
            address="127.0.0.1",
            ports=(Port("http", http_port), Port("https", 0)),
            settings=WorkerSettings(access_log_format="off", log_level="warning"),
            retire_limit_seconds=5.0,
        ),
        fallback=FALLBACK,
        new_log=new_log,
        times=times,
        command=command,
    )
    try:
        fleet.open()
        yield fleet
    finally:
        await fleet.stop()
        for reader in readers:
            os.close(reader)
        assert children() == set()
    assert descriptors() == before


@asynccontextmanager
async def serving(count: int, *, times: Times | None = None) -> AsyncIterator[ProcessFleet]:
    """A fleet of real workers that all serve `MODEL`."""
    async with fleet_of(count, times=times) as fleet:
        fleet.publish(build.publication(1, MODEL))
        await fleet.start()
        await until(lambda: fleet.readiness() is None)
        yield fleet


async def ask(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


async def test_two_serve_explain_report_and_drain() -> None:
    async with fleet_of(2) as fleet:
        assert fleet.readiness() == "no worker"
        with pytest.raises(NoAnswer):
            await fleet.explain("http://shop.test/", (), client="")
        await fleet.start()
        assert fleet.readiness() == "no configuration in every worker yet"
        fleet.publish(build.publication(1, MODEL))
        await until(lambda: fleet.readiness() is None)
        answers = await asyncio.gather(*(ask(fleet.ports["http"]) for _ in range(20)))
        assert all(answer.startswith(b"HTTP/1.1 503") for answer in answers)
        assert counted(fleet, REQUESTS) == 20
        told = await fleet.explain("http://shop.test/", (), client="")
        assert told.explanation.ingress == "shop/web"
        with pytest.raises(BadQuestion):
            await fleet.explain("no url", (), client="")
        report = await fleet.report()
        assert set(report.connections) == {
            ("client_active",),
            ("client_idle",),
            ("endpoint_active",),
            ("endpoint_idle",),
            ("http2_connections",),
            ("http2_streams",),
        }
        assert report.event_loop_lag_seconds >= 0
        await fleet.drain(grace_seconds=0.0, limit_seconds=5.0)
        assert children() == set()
        with pytest.raises(ConnectionRefusedError):
            await ask(fleet.ports["http"])
        assert counted(fleet, WORKER_RESTARTS) == 0


async def test_one_that_is_killed_is_replaced_and_its_counts_stay() -> None:
    async with serving(1) as fleet:
        await ask(fleet.ports["http"])
        (killed,) = children()
        os.kill(killed, signal.SIGKILL)
        await until(lambda: children() not in (set(), {killed}))
        # Asked before the successor listens: the connection waits in the socket that both have.
        assert (await ask(fleet.ports["http"])).startswith(b"HTTP/1.1 503")
        assert counted(fleet, REQUESTS) == 2
        assert counted(fleet, WORKER_RESTARTS) == 1
        assert len(fleet.tables()) == 2, "one of the only worker there is at a time, and our own"


async def test_one_that_hangs_is_found_and_replaced() -> None:
    async with serving(1, times=Times(ping=0.1, answer=0.5)) as fleet:
        (hung,) = children()
        os.kill(hung, signal.SIGSTOP)
        await until(lambda: hung not in children())
        assert (await ask(fleet.ports["http"])).startswith(b"HTTP/1.1 503")


async def test_one_that_hangs_is_not_asked_to_explain() -> None:
    async with serving(2, times=Times(ping=0.1, answer=20.0)) as fleet:
        os.kill(min(children()), signal.SIGSTOP)
        with suppress(NoAnswer):  # it may not be known yet
            await fleet.explain("http://shop.test/", (), client="")
        with suppress(NoAnswer):
            await fleet.explain("http://shop.test/", (), client="")
        for _ in range(3):
            await fleet.explain("http://shop.test/", (), client="")


async def test_one_that_retires_serves_until_its_successor_does_and_shares_no_table() -> None:
    async with serving(1) as fleet:
        (old,) = children()
        os.kill(old, signal.SIGTERM)
        statuses = set()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while old in children():
                statuses.add((await ask(fleet.ports["http"]))[:12])
        assert statuses == {b"HTTP/1.1 503"}
        assert len(fleet.tables()) == 3
        assert len(children()) == 1
        (left_behind,) = children()
        os.kill(left_behind, signal.SIGTERM)
        await until(lambda: left_behind not in children())
        assert len(fleet.tables()) == 3, "the table of the first is used again"
        assert counted(fleet, WORKER_RESTARTS) == 2


"""A place whose starts have failed waits until a worker of another place succeeds: until a test says so."""

"""Most of a pause is left when a start has failed, so each is a long one."""


async def test_one_that_retires_again_and_again_has_one_successor_at_a_time() -> None:
    async with fleet_of(1, command=standin(Accepting(), Retiring(), then="signal.pause()"), times=QUICK) as fleet:
        await fleet.start()
        await until(lambda: counted(fleet, WORKER_RESTARTS) >= 3)
        assert fleet.readiness() == "no configuration in every worker yet"


async def test_who_does_not_end_its_drain_is_ended() -> None:
    async with fleet_of(2, command=standin(Accepting()), times=QUICK) as fleet:
        await fleet.start()
        assert len(children()) == 2
        async with asyncio.timeout(PATIENCE_SECONDS):
            await fleet.drain(grace_seconds=0.0, limit_seconds=0.1)
        assert children() == set()


async def test_as_many_descriptors_as_may_be_are_asked_for() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, hard) - 1, hard))
    try:
        async with fleet_of(1, command=standin(Accepting())):
            assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == hard
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
