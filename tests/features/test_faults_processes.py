"""A stalled loop is seen, a stalled log reader costs lines and not requests, and signals end the process well."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.fakes.stopwatch import Stopwatch
from tests.features.faults.load import Ledger, Load, body_of, honest, request_of
from tests.features.faults.stage import Record, Stage, manifests, staged
from tests.integration.running import started, until
from tests.integration.wire import get

pytestmark = [pytest.mark.faults, pytest.mark.alone]

_GRACE_SECONDS = 1.0
_DRAIN_SECONDS = 3.0


async def test_r05_a_loop_that_stood_still_shows_in_its_lag_and_fails_nothing(
    tmp_path: Path, record_property: Record
) -> None:
    ledger = Ledger()
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        staged(tmp_path, {"app": [endpoint]}, ledger=ledger) as stage,
    ):
        load = stage.load()
        loading = asyncio.create_task(load.steady(rate=50, seconds=1.2))
        stage.zonal.tell(signal.SIGSTOP)
        await asyncio.sleep(1.1)  # the stall
        stage.zonal.tell(signal.SIGCONT)
        await loading
        (lag,) = (await stage.zonal.metrics())["zonal_event_loop_lag_seconds"].samples
    record_property("lag seconds", lag.value)
    assert load.failures == []
    assert lag.value >= 0.5


@pytest.mark.slow
async def test_r06_a_log_that_nobody_reads_loses_lines_and_no_request(tmp_path: Path, record_property: Record) -> None:
    ledger = Ledger()
    long = "x" * 2000  # of four fields of a line, which keeps so much of each
    fields = "".join(f"{name}: {long}\r\n" for name in ("User-Agent", "Referer", "X-Request-ID"))
    async with ScriptedEndpoint(honest(ledger)) as endpoint:
        folder = manifests(tmp_path, {"app": [endpoint]})
        async with _unread(folder.place) as (http_port, admin_port):
            load = Load(http_port, prefix=f"/{long}", fields=fields)
            for _ in range(10):
                await load.wave(100, posts=False)
            load.close()
            page = (await get(admin_port, "localhost", "/metrics")).body.decode()
    dropped = next(line for line in page.splitlines() if line.startswith("zonal_access_log_dropped_total"))
    record_property("dropped of 1000", dropped.split()[-1])
    assert load.failures == []
    assert float(dropped.split()[-1]) > 0
    assert len(load.answers) == 1000


@asynccontextmanager
async def _unread(folder: Path) -> AsyncIterator[tuple[int, int]]:
    """A process of whose standard output only the first line is read; its HTTP and admin ports."""
    output, stdout = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ingress", "run", "--http-port=0", "--https-port=0", "--admin-port=0", "--workers=1"),
        *("--source", str(folder), "--allow-local-endpoints", "--shutdown-grace-period=0"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=stdout,
        stderr=asyncio.subprocess.PIPE,
    )
    os.close(stdout)
    try:
        line = (await asyncio.to_thread(os.read, output, 200)).decode()
        http, _, admin = (int(word.partition("=")[2]) for word in line.split()[2:])
        while (await get(admin, "localhost", "/readyz")).status != 200:  # noqa: ASYNC110 - another process's state
            await asyncio.sleep(0.01)
        yield http, admin
        process.terminate()
        _, stderr = await asyncio.wait_for(process.communicate(), 30)
        assert process.returncode == 0
        assert b"Traceback" not in stderr
    finally:
        os.close(output)
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _chat(visit: Visit) -> None:
    head = await visit.head()
    if b"Upgrade: websocket" in head:
        await visit.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        while data := await visit.some():
            await visit.send(data)
        return
    await visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 20480\r\n\r\n")
    for number in range(20):
        await visit.send(body_of(f"{number}", 1024))
        await asyncio.sleep(0.1)


@pytest.mark.slow
async def test_p10_sigterm_ends_all_that_can_end_within_the_limit(tmp_path: Path, record_property: Record) -> None:
    ledger = Ledger()
    options = ("--shutdown-grace-period", f"{_GRACE_SECONDS}", "--drain-timeout", f"{_DRAIN_SECONDS}")
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        ScriptedEndpoint(_chat) as long_lasting,
        staged(tmp_path, {"app": [endpoint], "long": [long_lasting]}, ledger=ledger, options=options) as stage,
        RawClient(stage.port) as downloading,
        RawClient(stage.port) as tunnelled,
    ):
        kept, fresh = stage.load(), stage.load(keeps=False)
        await asyncio.gather(kept.steady(rate=100, seconds=0.5), fresh.steady(rate=50, seconds=0.5))
        tunnelled.send(b"GET /long HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        assert (await tunnelled.head()).startswith(b"HTTP/1.1 101")
        downloading.send(request_of("slow", 0, prefix="/long"))
        stage.zonal.tell(signal.SIGTERM)
        since_told = Stopwatch()
        await stage.zonal.is_unready()
        during = _GRACE_SECONDS * 0.7  # whoever balances load over replicas has seen it by then
        await asyncio.gather(kept.steady(rate=100, seconds=during), fresh.steady(rate=50, seconds=during))
        response = await downloading.response()
        tunnelled.send(b"still here")
        assert await tunnelled.reader.readexactly(10) == b"still here"
        assert await stage.zonal.has_ended(seconds=_GRACE_SECONDS + _DRAIN_SECONDS + 2.0) == 0
        seconds = since_told.seconds
    record_property("seconds", seconds)
    assert kept.failures == fresh.failures == []
    assert response.body == b"".join(body_of(f"{number}", 1024) for number in range(20))
    assert seconds <= _GRACE_SECONDS + _DRAIN_SECONDS + 1.0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_p11_a_second_signal_ends_it_at_once_and_well(tmp_path: Path, number: signal.Signals) -> None:
    ledger = Ledger()
    async with (
        ScriptedEndpoint(honest(ledger, delay_seconds=30.0)) as endpoint,
        staged(tmp_path, {"app": [endpoint]}, ledger=ledger, options=("--shutdown-grace-period", "60")) as stage,
        RawClient(stage.port) as client,
    ):
        client.send(request_of("unfinished", 0))
        await until(lambda: len(endpoint.visits) == 1, seconds=5.0)
        assert await _ends_seconds(stage, signal.SIGTERM, number) < 2.0


async def _ends_seconds(stage: Stage, *signals: signal.Signals) -> float:
    """Send signals, each once the one before has shown; the seconds from the last to the end with status 0."""
    for number in signals[:-1]:
        stage.zonal.tell(number)
        await stage.zonal.is_unready()
    since_told = Stopwatch()
    stage.zonal.tell(signals[-1])
    assert await stage.zonal.has_ended(seconds=5.0) == 0
    return since_told.seconds


@pytest.mark.parametrize("delay_seconds", [0.1, 0.3, 0.6, 1.0])
async def test_p12_sigterm_during_start_up_ends_it_soon(tmp_path: Path, delay_seconds: float) -> None:
    folder = manifests(tmp_path, {"app": []})
    async with started(folder.place, "--shutdown-grace-period", "0", anew=True) as zonal:
        await asyncio.sleep(delay_seconds)
        zonal.tell(signal.SIGTERM)
        status = await zonal.has_ended(seconds=2.0)
        assert "Traceback" not in zonal.stderr
    assert status == 0 or (status == -signal.SIGTERM and zonal.stdout == "")
