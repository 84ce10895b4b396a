"""What workers report is gathered in time, and without harm, whatever becomes of a worker meanwhile."""

from __future__ import annotations

import asyncio
import gc
import os
import signal

import pytest

from balancer.workers.lifecycle import Times
from tests.fakes.sockets import PATIENCE_SECONDS, until
from tests.integration import processes
from tests.integration.balancer.workers.test_supervisor import note_children_of_others, serving


@pytest.fixture(autouse=True)
def _ours_are_the_only_ones() -> None:
    note_children_of_others()


async def test_a_scrape_does_not_wait_for_one_that_hangs() -> None:
    async with serving(2, times=Times(answer=10 * PATIENCE_SECONDS, hopeless=10 * PATIENCE_SECONDS)) as fleet:
        before = await fleet.report()
        os.kill(min(fleet.processes().values()), signal.SIGSTOP)
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert (await fleet.report()).connections == before.connections


async def test_a_worker_that_ends_after_a_scrape_was_given_up_leaves_no_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(2, times=Times(answer=10 * PATIENCE_SECONDS, hopeless=10 * PATIENCE_SECONDS)) as fleet:
        stopped = min(fleet.processes().values())
        os.kill(stopped, signal.SIGSTOP)
        scrape = asyncio.create_task(fleet.report())
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # now each worker is asked
        scrape.cancel()
        await asyncio.gather(scrape, return_exceptions=True)
        os.kill(stopped, signal.SIGKILL)
        await until(lambda: stopped not in processes.children(os.getpid()))
    del scrape  # holds what was asked
    gc.collect()
    assert "never retrieved" not in caplog.text
