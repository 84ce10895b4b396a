"""Waiting for a processor does not count; every other second does."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time

import pytest

from tests.fakes.stopwatch import Stopwatch, stolen_seconds, unhurried

_SPINS = """\
import os, time
os.sched_setaffinity(0, {%d})
while time.process_time() < 0.3:
    pass
"""


@pytest.mark.large
def test_what_processes_wait_for_a_processor_does_not_count() -> None:
    began, watch = time.monotonic(), Stopwatch()
    one_cpu = _SPINS % min(os.sched_getaffinity(0))
    both = [subprocess.Popen((sys.executable, "-S", "-E", "-c", one_cpu)) for _ in range(2)]
    while any(each.poll() is None for each in both):
        time.sleep(0.01)
        assert watch.seconds >= 0.0  # seen before the two are gone
    wall = time.monotonic() - began
    assert wall > 0.5
    assert watch.seconds < wall / 2, "while one of the two ran, the other waited"


def test_sleep_counts() -> None:
    watch = Stopwatch()
    assert watch.within(30.0)
    time.sleep(0.2)  # what is measured
    assert watch.seconds > 0.1
    assert not watch.within(0.1)


def test_what_other_machines_took_is_a_column_of_the_kernel() -> None:
    ticks = os.sysconf("SC_CLK_TCK")
    assert stolen_seconds(b"cpu  9 9 9 9 9 9 9 %d 0 0\ncpu0 9 9 9 9 9 9 9 9 0 0\n" % (2 * ticks)) == 2.0
    assert stolen_seconds(b"cpu  9 9 9 9\n") == 0.0


async def test_a_limit_ends_what_lasts_longer_and_nothing_else() -> None:
    async with unhurried(30.0):
        await asyncio.sleep(0)
    with pytest.raises(TimeoutError):
        async with unhurried(0.05):
            await asyncio.Event().wait()
