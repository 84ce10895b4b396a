"""A fleet of processes stays as large as it should be, whatever becomes of its processes; nothing counted is lost."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec
import pytest

from balancer.connections.listeners import CannotListen, Port, listen_together, port_of
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
from tests.unit.balancer.workers.standins import QUICK, Switched, standin

MODEL = build.model(build.backend(), hosts=[build.host("shop.test", build.route("/"))])
FALLBACK = self_signed()


_children_of_others: set[int] = set()


def note_children_of_others() -> None:
    """What tests of other files have started stays out of `children` from now on."""
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


@pytest.mark.parametrize("error", [OSError("no more"), MemoryError()], ids=type)
async def test_a_start_that_fails_in_the_parent_is_tried_again(error: Exception) -> None:
    failing = [error]

    def command(start: bytes) -> Sequence[str]:
        if failing:
            raise failing.pop()
        return standin(Accepting())(start)

    async with fleet_of(1, command=command) as fleet:
        await fleet.start()
        await until(lambda: len(children()) == 1)


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


@pytest.mark.parametrize(
    "command",
    [standin(then="raise SystemExit(1)"), lambda _: ["/nowhere/program"]],
    ids=["that exits", "that is not there"],
)
async def test_a_crash_loop_slows_down_and_says_why(command: Command, caplog: pytest.LogCaptureFixture) -> None:
    started: list[float] = []

    def noted(start: bytes) -> Sequence[str]:
        started.append(asyncio.get_running_loop().time())
        return command(start)

    async with fleet_of(2, command=noted, times=QUICK) as fleet:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await fleet.start()
        assert fleet.readiness() == "no worker"
        await until(lambda: len(started) >= 6)
        # The first one of each does not follow any; the pauses are of all together.
        assert started[4] - started[3] >= QUICK.longest_pause - 0.01
        assert started[5] - started[4] >= QUICK.longest_pause - 0.01
        assert counted(fleet, WORKER_RESTARTS) >= 4
    assert "is started again in" in caplog.text
    assert "exit status 1" in caplog.text or "cannot be started: No such file" in caplog.text


async def test_when_what_made_all_fail_is_gone_the_first_success_brings_back_all() -> None:
    # 0.02, 0.08, 0.32 and 1.28 s until the first success. A pause for each of the others would outlast all patience.
    lives = Times(failed_pause=0.02, longest_pause=1000.0, proof=0.2)
    is_faulty, failed = False, 0

    def command(start: bytes) -> Sequence[str]:
        nonlocal failed
        failed += is_faulty
        return standin(then="raise SystemExit(1)")(start) if is_faulty else standin(Accepting())(start)

    async with fleet_of(4, command=command, times=lives) as fleet:
        await fleet.start()
        is_faulty = True
        for pid in children():
            os.kill(pid, signal.SIGKILL)
        await until(lambda: failed == 8)  # each at once, and four more
        is_faulty = False
        await until(lambda: len(children()) == 4)


async def connections_per_worker(fleet: ProcessFleet, asked: int) -> list[float]:
    """How many of so many requests each counter table has got, the parent's apart."""
    number = NUMBERS[REQUESTS.name]

    def counts() -> list[float]:
        return [
            sum(entry.values[0] for entry in read(table) if entry.key.metric == number) for table in fleet.tables()[:-1]
        ]

    before = counts()
    answers = await asyncio.wait_for(
        asyncio.gather(*(ask(fleet.ports["http"]) for _ in range(asked))), PATIENCE_SECONDS
    )
    assert all(answer.startswith(b"HTTP/1.1 503") for answer in answers)
    return [after - earlier for after, earlier in zip(counts(), before, strict=True)]


_UNTIL_A_SUCCESS = Times(start=30.0, answer=30.0, failed_pause=1000.0, longest_pause=1000.0, proof=0.0)
"""A place whose starts have failed waits until a worker of another place succeeds: until a test says so."""

_LONG_PAUSES = Times(start=30.0, answer=30.0, failed_pause=3.0, longest_pause=3.0, long_pause=0.1)
"""Most of a pause is left when a start has failed, so each is a long one."""


async def test_a_place_whose_worker_is_long_in_coming_leaves_connections_to_the_others() -> None:
    command = Switched()
    async with fleet_of(2, command=command, times=_UNTIL_A_SUCCESS) as fleet:
        fleet.publish(build.publication(1, MODEL))
        await fleet.start()
        assert min(await connections_per_worker(fleet, 40)) > 0
        listening = sockets()

        def is_left_to_the_other(starts: int) -> bool:
            return command.failed == starts and sockets() == listening - 3  # two listeners, one channel

        command.faulty = {0}
        os.kill(fleet.processes()[0], signal.SIGKILL)
        await until(lambda: is_left_to_the_other(starts=2))  # one at once, as after every death, and the first of all
        assert 0.0 in await connections_per_worker(fleet, 40)
        os.kill(fleet.processes()[1], signal.SIGTERM)  # its successor is the success that others wait for
        await until(lambda: is_left_to_the_other(starts=3))
        await connections_per_worker(fleet, 40)  # each has its answer: none waits at sockets that nobody reads
        command.faulty = set()
        os.kill(fleet.processes()[1], signal.SIGTERM)
        await until(lambda: len(children()) == 2 and sockets() == listening)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while sum(count > 0 for count in await connections_per_worker(fleet, 40)) < 2:
                pass


async def test_the_last_place_that_accepts_is_never_closed() -> None:
    command = Switched()
    async with fleet_of(2, command=command, times=_LONG_PAUSES) as fleet:
        fleet.publish(build.publication(1, MODEL))
        await fleet.start()
        listening = sockets()
        command.faulty = {0, 1}
        for pid in children():
            os.kill(pid, signal.SIGKILL)
        await until(lambda: counted(fleet, WORKER_RESTARTS) >= 3)
        await until(lambda: children() == set() and sockets() == listening - 2)  # only the channels are gone
        waiting = asyncio.ensure_future(ask(fleet.ports["http"]))
        command.faulty = set()
        assert (await asyncio.wait_for(waiting, PATIENCE_SECONDS)).startswith(b"HTTP/1.1 503")


async def test_who_dies_in_the_grace_period_leaves_new_connections_to_the_others() -> None:
    async with serving(2) as fleet:
        draining = asyncio.ensure_future(fleet.drain(grace_seconds=5.0, limit_seconds=1.0))
        listening = sockets()
        killed = min(children())
        os.kill(killed, signal.SIGKILL)
        await until(lambda: sockets() == listening - 3)
        assert 0.0 in await connections_per_worker(fleet, 40)
        for pid in children():
            os.kill(pid, signal.SIGKILL)
        await draining


async def test_one_that_never_accepts_is_ended() -> None:
    async with fleet_of(1, command=standin(), times=msgspec.structs.replace(QUICK, start=0.3)):
        await until(lambda: bool(children()))
        (first,) = children()
        await until(lambda: first not in children())


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


async def test_a_port_in_use_starts_nobody() -> None:
    (taken,) = listen_together("127.0.0.1", 0, count=1)
    with taken, pytest.raises(CannotListen):
        async with fleet_of(2, http_port=port_of(taken)):
            pass
