"""Processes that cannot start: pauses grow, other workers get connections, and the first success ends the pauses."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence

import msgspec
import pytest

from balancer.connections.listeners import CannotListen, listen_together, port_of
from balancer.metrics.definitions import REQUESTS, WORKER_RESTARTS
from balancer.metrics.recorder import NUMBERS
from balancer.metrics.slots import read
from balancer.workers.lifecycle import Times
from balancer.workers.messages import Accepting
from balancer.workers.supervised import Command
from balancer.workers.supervisor import ProcessFleet
from tests import builders as build
from tests.fakes.sockets import PATIENCE_SECONDS, until
from tests.integration.balancer.workers.test_supervisor import (
    MODEL,
    ask,
    children,
    counted,
    fleet_of,
    note_children_of_others,
    serving,
    sockets,
)
from tests.unit.balancer.workers.standins import QUICK, Switched, standin


@pytest.fixture(autouse=True)
def _only_ours() -> None:
    note_children_of_others()


@pytest.mark.parametrize("error", [OSError("no more"), MemoryError(), RuntimeError("a bug of ours")], ids=type)
async def test_a_start_that_fails_in_the_parent_is_tried_again(error: Exception) -> None:
    failing = [error]

    def command(start: bytes) -> Sequence[str]:
        if failing:
            raise failing.pop()
        return standin(Accepting())(start)

    async with fleet_of(1, command=command, times=QUICK) as fleet:
        await fleet.start()
        await until(lambda: len(children()) == 1)


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


_LONG_PAUSES = Times(start=30.0, answer=30.0, failed_pause=3.0, longest_pause=3.0, long_pause=0.1)


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


async def test_a_port_in_use_starts_nobody() -> None:
    (taken,) = listen_together("127.0.0.1", 0, count=1)
    with taken, pytest.raises(CannotListen):
        async with fleet_of(2, http_port=port_of(taken)):
            pass
