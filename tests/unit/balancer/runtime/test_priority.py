"""Others go first, and use not all of the time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest

from balancer.runtime.priority import GivingWay, step_back


class Processor:
    """One that others use for `taken` seconds whenever they are let in."""

    def __init__(self, taken: float) -> None:
        self.taken, self.now, self.others, self.times = taken, 100.0, 0.0, 0
        self.give_way = GivingWay(clock=lambda: self.now, let_in=self.let_in)
        self.give_way.begin()

    def let_in(self) -> None:
        self.times += 1
        self.now += self.taken
        self.others += self.taken

    def work(self, seconds: float, *, piece: float) -> None:
        for _ in range(round(seconds / piece)):
            self.now += piece
            self.give_way()


def test_if_nobody_waits_others_are_let_in_after_each_piece() -> None:
    processor = Processor(taken=0.0)
    processor.work(1.0, piece=0.0001)
    assert processor.times == 10_000


@pytest.mark.large
def test_if_others_use_all_of_the_core_this_process_still_gets_a_quarter() -> None:
    processor = Processor(taken=0.002)
    processor.work(10.0, piece=0.00005)
    assert processor.others == pytest.approx(30.0, rel=0.01)


def test_if_others_use_less_they_are_let_in_after_each_piece() -> None:
    processor = Processor(taken=0.0002)
    processor.work(1.0, piece=0.0001)
    assert processor.times == 10_000


def test_before_it_begins_nobody_is_let_in() -> None:
    GivingWay(let_in=lambda: pytest.fail("nobody waits"))()


def test_on_this_machine_it_returns() -> None:
    giving = GivingWay()
    giving.begin()
    giving()


def in_a_thread(call: Callable[[], None]) -> None:
    """What a thread changes of its own priority ends with it."""
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="this is of Linux")
def test_a_thread_that_steps_back_gets_less_and_interrupts_nobody() -> None:
    seen = []

    def back() -> None:
        lowest = min(os.getpriority(os.PRIO_PROCESS, 0) + 5, 19)  # whoever runs the tests may be nice already
        step_back()
        seen.append((os.getpriority(os.PRIO_PROCESS, 0) == lowest, os.sched_getscheduler(0)))

    in_a_thread(back)
    assert seen == [(True, os.SCHED_BATCH)]
    assert os.sched_getscheduler(0) == os.SCHED_OTHER, "another thread is as before"
