"""Memory for limits: seats, locks, and that processes count exactly together."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys

import pytest

from balancer.matching.limits.counting import Counting
from balancer.model.limits import Rate
from balancer.workers.limit_memory import LimitMemory, LimitSeat, RangeLocks, counting_alone, counting_of
from tests.fakes.sockets import PATIENCE_SECONDS

MOST = 500
LIMIT = (Rate(1, 60, MOST - 1),)
CLIENT = b"192.0.2.1"

TAKER = """
import json, sys
from balancer.model.limits import Rate
from balancer.workers.limit_memory import LimitSeat, counting_of

seat, most, tries = json.loads(sys.argv[1])
counting = counting_of(LimitSeat(*seat))
zone = counting.rates("shop/web", (Rate(1, 60, most - 1),))
flights = counting.flights("shop/web", most)
sys.stdin.readline()
passed = sum(zone.may_pass(b"192.0.2.1") for _ in range(tries))
entered = sum(flights.enter(b"192.0.2.1") is not None for _ in range(tries))
print(json.dumps([passed, entered]), flush=True)
sys.stdin.readline()
"""


class Taker:
    """A process that takes as much as it gets, once it is told to."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self._stdin, self._stdout = process, process.stdin, process.stdout

    @classmethod
    async def start(cls, seat: LimitSeat) -> Taker:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            TAKER,
            json.dumps([seat, MOST, MOST]),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=(seat.descriptor,),
        )
        return cls(process)

    def tell(self) -> None:
        self._stdin.write(b"\n")

    async def taken(self) -> tuple[int, int]:
        async with asyncio.timeout(PATIENCE_SECONDS):
            passed, entered = json.loads(await self._stdout.readline())
        return passed, entered

    async def ended(self) -> None:
        self._stdin.close()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self.process.wait()


async def test_four_processes_let_exactly_as_many_pass_as_one_would() -> None:
    memory = LimitMemory(4)
    seats = [memory.take() for _ in range(4)]
    takers = [await Taker.start(seat) for seat in seats]
    for taker in takers:
        taker.tell()
    taken = [await taker.taken() for taker in takers]
    passed, entered = (sum(each) for each in zip(*taken, strict=True))
    # Exactly, unless the machine takes the processor from one that holds a lock for longer than others wait.
    assert MOST * 0.95 <= passed <= MOST * 1.05
    assert MOST * 0.95 <= entered <= MOST * 1.05
    for taker, seat in zip(takers, seats, strict=True):
        taker.process.send_signal(signal.SIGKILL)
        await taker.ended()
        memory.give_back(seat)
    counting = counting_of(memory.take())
    assert not counting.rates("shop/web", LIMIT).may_pass(CLIENT)
    assert counting.flights("shop/web", 1).enter(CLIENT) is not None  # what killed processes counted is gone
    memory.close()


def test_a_seat_is_given_to_one_process_at_a_time() -> None:
    memory = LimitMemory(1)
    seats = [memory.take() for _ in range(8)]
    assert len({seat.number for seat in seats}) == 8
    with pytest.raises(OSError, match="draining"):
        memory.take()
    memory.give_back(seats[3])
    assert memory.take() == seats[3]
    memory.close()
    memory.give_back(seats[3])  # of a process that ended late


def test_counts_that_nobody_shares() -> None:
    one, other = counting_alone(), counting_alone()
    for counting in (one, other):
        assert isinstance(counting, Counting)
        zone = counting.rates("shop/web", (Rate(1, 60, 0),))
        assert [zone.may_pass(CLIENT) for _ in range(2)] == [True, False]


HOLDER = "import fcntl, os, sys, time; fcntl.lockf(int(sys.argv[1]), 2, 1, 5); print(flush=True); time.sleep(60)"


def test_a_lock_of_a_process_that_does_not_go_on_is_waited_for_only_shortly() -> None:
    descriptor = os.memfd_create("locks", os.MFD_CLOEXEC)
    holder = subprocess.Popen(
        (sys.executable, "-c", HOLDER, str(descriptor)), stdout=subprocess.PIPE, pass_fds=(descriptor,)
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"\n"
        locks = RangeLocks(descriptor)
        for place in (5, 6):  # of which the first one is not to be had
            locks.enter(place)
            locks.leave(place)
        holder.kill()
    os.close(descriptor)
