"""Memory for what workers tell each other: processes hear each other, and learn alone where there is no memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from balancer.workers.limit_memory import LimitSeat
from balancer.workers.peer_memory import NO_MEMORY, PeerMemory, peers_of
from balancer.zones.peers import Seen, alone
from tests.fakes.sockets import PATIENCE_SECONDS

KEY = "shop/cart:80 zone-a"
SEATS = 2

TELLER = """
import json, sys
from balancer.workers.limit_memory import LimitSeat
from balancer.workers.peer_memory import peers_of
from balancer.zones.peers import Seen

descriptor, seats, now = json.loads(sys.argv[1])
peers = peers_of(descriptor, LimitSeat(-1, seats, 1))("shop/cart:80 zone-a")
heard = peers.exchange(Seen(10, 8, 7, 0.14, 2, 0.05), share=0.3, baseline=0.02, now=now)
print(json.dumps(heard.share))
"""


def seat(number: int) -> LimitSeat:
    return LimitSeat(-1, SEATS, number)


def told_by_a_process(memory: PeerMemory, now: float) -> object:
    said = subprocess.run(
        [sys.executable, "-c", TELLER, json.dumps([memory.descriptor, SEATS, now])],
        pass_fds=(memory.descriptor,),
        capture_output=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    )
    return json.loads(said.stdout)


def test_processes_hear_each_other_until_a_seat_is_given_back() -> None:
    memory = PeerMemory(SEATS)
    try:
        here = peers_of(memory.descriptor, seat(0))(KEY)
        here.exchange(Seen(), share=0.1, baseline=0.02, now=1.0)
        assert told_by_a_process(memory, 1.5) == pytest.approx(0.1)
        assert here.exchange(Seen(), share=0.1, baseline=0.02, now=2.1).share == pytest.approx(0.3)
        memory.give_back(seat(1))
        assert here.exchange(Seen(), share=0.1, baseline=0.02, now=2.2).share is None
    finally:
        memory.close()
    memory.give_back(seat(1))  # after the end nothing happens
    memory.close()


def test_without_memory_each_worker_learns_alone() -> None:
    read, write = os.pipe()
    try:
        for descriptor in (NO_MEMORY, read):
            assert peers_of(descriptor, seat(0)) is alone
    finally:
        os.close(read)
        os.close(write)


def test_a_parent_without_memory_says_so_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def none_left(*_: object) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "memfd_create", none_left)
    memory = PeerMemory(SEATS)
    assert memory.descriptor == NO_MEMORY
    assert "learns alone" in caplog.text
    memory.give_back(seat(0))
    memory.close()
