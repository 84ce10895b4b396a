"""P02: workers that fail at their start are tried again, but never in a storm, and it is said why none serves."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from tests.fakes.endpoints import ScriptedEndpoint
from tests.features.faults.crew import TracedLoad, sending
from tests.features.faults.load import Ledger, honest
from tests.features.faults.stage import Record, Stage, manifests
from tests.features.faults.startups import FailingStarts
from tests.integration.processes import workers, zombies
from tests.integration.running import Zonal, running, until

pytestmark = [pytest.mark.faults, pytest.mark.alone]

_NEARLY_A_MINUTE_SECONDS = 58.0
_MOST_IN_A_MINUTE = 9


async def test_p02_one_that_cannot_start_harms_nobody(tmp_path: Path) -> None:
    ledger, starts = Ledger(), FailingStarts(tmp_path)
    async with ScriptedEndpoint(honest(ledger)) as endpoint:
        folder = manifests(tmp_path, {"app": [endpoint]})
        async with running(folder.place, "--workers=2", environment=starts.environment) as zonal:
            _, survivor = workers(zonal.pid)
            starts.turn(on=True)
            load = TracedLoad(zonal.http_port)
            _kill_all_but(zonal, survivor)
            await until(lambda: workers(zonal.pid) == [survivor], seconds=5.0)
            # Kept connections are the survivor's; those that wait for the other are answered once it can start.
            async with sending((load, 40)):
                await until(lambda: starts.count >= 3, seconds=5.0)
                assert (await zonal.admin("/readyz")).status == 200
                starts.turn(on=False)
                await until(lambda: len(workers(zonal.pid)) == 2, seconds=5.0)
            assert zombies(zonal.pid) == []
            restarts = await Stage(zonal, folder, ledger).counter("zonal_worker_restarts")
            log = zonal.stderr
    assert load.failures == []
    assert restarts >= starts.count + 1
    assert f"status {starts.STATUS}" in log, log
    assert "signal 9" in log or "SIGKILL" in log, log


async def test_p02_without_any_worker_it_is_not_ready_and_says_why(tmp_path: Path) -> None:
    ledger, starts = Ledger(), FailingStarts(tmp_path)
    async with ScriptedEndpoint(honest(ledger)) as endpoint:
        folder = manifests(tmp_path, {"app": [endpoint]})
        async with running(folder.place, "--workers=1", environment=starts.environment) as zonal:
            starts.turn(on=True)
            _kill_all_but(zonal)
            assert "no worker" in (await zonal.is_unready()).body.decode()
            await until(lambda: starts.count >= 2, seconds=5.0)
            starts.turn(on=False)
            await zonal.is_ready()
            load = TracedLoad(zonal.http_port)
            await load.ask(1024)
            load.close()
    assert load.failures == []


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3])
async def test_p02_a_crash_loop_is_no_storm(tmp_path: Path, count: int, record_property: Record) -> None:
    starts = FailingStarts(tmp_path)
    folder = manifests(tmp_path, {"app": []})
    async with running(folder.place, f"--workers={count}", environment=starts.environment) as zonal:
        starts.turn(on=True)
        began_at = time.monotonic()
        _kill_all_but(zonal)
        while time.monotonic() - began_at < _NEARLY_A_MINUTE_SECONDS:
            await asyncio.sleep(1.0)
            assert zombies(zonal.pid) == []
        again = starts.count - count  # whoever was killed had served, so that its successor came at once
        starts.turn(on=False)
        await zonal.is_ready()
    record_property("starts in a minute after failed ones", again)
    assert 2 <= again <= _MOST_IN_A_MINUTE


def _kill_all_but(zonal: Zonal, *survivors: int) -> None:
    for pid in workers(zonal.pid):
        if pid not in survivors:
            os.kill(pid, signal.SIGKILL)
