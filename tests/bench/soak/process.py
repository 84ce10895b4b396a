"""The `zonal run` that is soaked: started on a folder, its access log read and checked, its figures asked for.

Responsible for one process and its end. What proc(5) says of it and of its workers is in `tests.integration.processes`.
"""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from tests.integration.wire import get

_FIRST_LINE = re.compile(rb"zonal: serving http=(\d+) https=(\d+) admin=(\d+)\n")
_START_SECONDS = 120.0  # of a machine that does other things, under AddressSanitizer
_STOP_SECONDS = 60.0
_POLL_SECONDS = 0.05
_TROUBLE = re.compile(r"Traceback| ERROR ")


class Running:
    """The process, and what it has said so far."""

    def __init__(self, process: asyncio.subprocess.Process, ports: tuple[int, int, int], log: Path) -> None:
        self.http_port, self.https_port, self.admin_port = ports
        self.log_lines = 0
        self.torn_lines = 0
        self._process = process
        self._log = log

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        return self._process.returncode

    @property
    def trouble(self) -> list[str]:
        """Lines of standard error that no run should have."""
        return [line for line in self._log.read_text(errors="replace").splitlines() if _TROUBLE.search(line)]

    async def is_ready(self) -> None:
        """Wait until there is something to serve. Raises TimeoutError."""
        async with asyncio.timeout(_START_SECONDS):
            while (await get(self.admin_port, "localhost", "/readyz")).status != 200:  # noqa: ASYNC110 - its state
                await asyncio.sleep(_POLL_SECONDS)

    async def metrics(self) -> dict[str, Metric]:
        """Every family of `/metrics` by its name (of a counter without `_total`)."""
        page = (await get(self.admin_port, "localhost", "/metrics")).body.decode()
        return {family.name: family for family in text_string_to_metric_families(page)}

    async def read_log(self) -> None:
        """Read the access log to its end; each line must be whole."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self.log_lines += 1
            try:
                json.loads(line)
            except ValueError:
                self.torn_lines += 1

    async def stop(self) -> int:
        """SIGTERM; the status it ends with. Raises TimeoutError."""
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(_STOP_SECONDS):
            return await self._process.wait()


@asynccontextmanager
async def running(
    folder: Path,
    *,
    workers: str,
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    tree: Path | None = None,
) -> AsyncIterator[Running]:
    """A process that is ready to serve `folder` with further `options`, from another `tree` of sources if there is one.

    `environment` is its whole environment; without it, ours.
    """
    log = folder.parent / "stderr"
    with log.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ingress", "run", "--http-port=0", "--https-port=0", "--admin-port=0"),
            *(f"--source={folder}", f"--workers={workers}", "--allow-local-endpoints", "--zone=zone-a"),
            *("--shutdown-grace-period=0", *options),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            cwd=tree,
            env=environment,
        )
    assert process.stdout is not None
    reading: asyncio.Task[None] | None = None
    try:
        async with asyncio.timeout(_START_SECONDS):
            match = _FIRST_LINE.fullmatch(await process.stdout.readline())
        if match is None:
            raise RuntimeError(f"zonal did not start: {log.read_text()}")
        served = Running(process, (int(match[1]), int(match[2]), int(match[3])), log)
        reading = asyncio.create_task(served.read_log())
        await served.is_ready()
        yield served
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        if reading is not None:
            await reading
