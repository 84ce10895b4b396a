"""The memory of a replica: seats, processes that count exactly together, and processes that hear each other."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys

import pytest

from balancer.model.limits import Rate
from balancer.sharing.counting import Counting
from balancer.sharing.memory import Seat, SharedMemory, alone, join
from balancer.sharing.peers import Seen
from tests.fakes.sockets import PATIENCE_SECONDS

MOST = 500
LIMIT = (Rate(1, 60, MOST - 1),)
CLIENT = b"192.0.2.1"

TAKER = """
import json, sys
from balancer.model.limits import Rate
from balancer.sharing.memory import Seat, join

seat, most, tries = json.loads(sys.argv[1])
counting = join(Seat(*seat)).counting
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
    async def start(cls, seat: Seat) -> Taker:
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


@pytest.mark.large
async def test_four_processes_let_exactly_as_many_pass_as_one_would() -> None:
    memory = SharedMemory(4)
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
    counting = join(memory.take()).counting
    assert not counting.rates("shop/web", LIMIT).may_pass(CLIENT)
    assert counting.flights("shop/web", 1).enter(CLIENT) is not None  # what killed processes counted is gone
    memory.close()


def test_a_seat_is_given_to_one_process_at_a_time() -> None:
    memory = SharedMemory(1)
    seats = [memory.take() for _ in range(8)]
    assert len({seat.number for seat in seats}) == 8
    with pytest.raises(OSError, match="draining"):
        memory.take()
    memory.give_back(seats[3])
    assert memory.take() == seats[3]
    memory.close()
    memory.give_back(seats[3])  # of a process that ended late


def test_counts_that_nobody_shares() -> None:
    one, other = alone().counting, alone().counting
    for counting in (one, other):
        assert isinstance(counting, Counting)
        zone = counting.rates("shop/web", (Rate(1, 60, 0),))
        assert [zone.may_pass(CLIENT) for _ in range(2)] == [True, False]


def test_replicas_with_one_secret_have_the_same_keys() -> None:
    one, same, other = (SharedMemory(1, secret=bytes([number]) * 32) for number in (1, 1, 2))
    keys = [join(memory.take()).counting.rates("shop/web", LIMIT).key_of(CLIENT) for memory in (one, same, other)]
    assert keys[0] == keys[1] != keys[2]
    for memory in (one, same, other):
        memory.close()


def test_a_secret_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        SharedMemory(1, secret=b"short")


TELLER = """
import json, sys
from balancer.sharing.memory import Seat, join
from balancer.sharing.peers import Seen

seat, now = json.loads(sys.argv[1])
peers = join(Seat(*seat)).others.peers_of("shop/cart:80 zone-a")
heard = peers.exchange(Seen(10, 8, 7, 0.14, 2, 0.05), share=0.3, baseline=0.02, now=now)
print(json.dumps(heard.share))
"""


def told_by_a_process(seat: Seat, now: float) -> object:
    said = subprocess.run(
        [sys.executable, "-c", TELLER, json.dumps([seat, now])],
        pass_fds=(seat.descriptor,),
        capture_output=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    )
    return json.loads(said.stdout)


@pytest.mark.large
def test_processes_hear_each_other_until_a_seat_is_given_back() -> None:
    memory = SharedMemory(1)
    own, other = memory.take(), memory.take()
    here = join(own).others.peers_of("shop/cart:80 zone-a")
    here.exchange(Seen(), share=0.1, baseline=0.02, now=1.0)
    assert told_by_a_process(other, 1.5) == pytest.approx(0.1)
    assert here.exchange(Seen(), share=0.1, baseline=0.02, now=2.1).share == pytest.approx(0.3)
    memory.give_back(other)
    assert here.exchange(Seen(), share=0.1, baseline=0.02, now=2.2).share is None
    memory.close()
