"""Runs the real `zonal run` as a process of its own and waits for its states; nothing here knows what it serves."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from tests.fakes.stopwatch import Stopwatch
from tests.integration.starting import start
from tests.integration.wire import Response, get

# What a test does not ask for is what is there soonest: one process, and free ports.
_QUICK = ("--workers=0", "--http-port=0", "--https-port=0", "--admin-port=0")
_POLL_SECONDS = 0.01
_START_SECONDS = 120.0  # of a machine that runs several suites at once
_STOP_SECONDS = 60.0
_OUTPUT_BYTES = 1 << 20
_FIRST_LINE = re.compile(r"zonal: serving http=(\d+) https=(\d+) admin=(\d+)\n")


class Zonal:
    """One process. Standard output and error go to files in `place`, so that they can be read at any time.

    `anew` and `through` are those of `starting.start`.
    """

    def __init__(
        self,
        place: Path,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        anew: bool = False,
        through: Sequence[str] = (),
    ) -> None:
        self._stdout, self._stderr = place / "stdout", place / "stderr"
        with self._stdout.open("wb") as stdout, self._stderr.open("wb") as stderr:
            self._process = start(
                ("run", *_QUICK, *arguments),
                stdout=stdout,
                stderr=stderr,
                environment=environment or {},
                anew=anew,
                through=through,
            )
        self.http_port = self.https_port = self.admin_port = 0

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stdout(self) -> str:
        return self._stdout.read_text()

    @property
    def stderr(self) -> str:
        return self._stderr.read_text()

    @property
    def access_lines(self) -> list[str]:
        """The whole lines after the first."""
        return self.stdout.split("\n")[1:-1]

    @property
    def exit_status(self) -> int | None:
        return self._process.poll()

    async def is_serving(self) -> None:
        """Wait for the first line on standard output and learn the ports from it."""
        await until(lambda: "\n" in self.stdout or self.exit_status is not None, seconds=_START_SECONDS)
        match = _FIRST_LINE.match(self.stdout)
        assert match, f"first line {self.stdout[:200]!r}, standard error {self.stderr!r}"
        self.http_port, self.https_port, self.admin_port = map(int, match.groups())

    async def is_ready(self) -> None:
        """Wait until the admin port says that there is something to serve. One that hangs up has said nothing yet."""
        deadline = time.monotonic() + _START_SECONDS
        while not await self._says_ready():
            assert time.monotonic() < deadline, self.stderr
            assert self.exit_status is None, self.stderr
            await asyncio.sleep(_POLL_SECONDS)

    async def _says_ready(self) -> bool:
        try:
            return (await self.admin("/readyz")).status == 200
        except (OSError, EOFError):
            return False

    async def is_unready(self) -> Response:
        """Wait until the admin port says that no more traffic should come; what it says."""
        deadline = time.monotonic() + _STOP_SECONDS
        while (answer := await self.admin("/readyz")).status == 200:
            assert time.monotonic() < deadline, self.stderr
        return answer

    async def admin(self, target: str) -> Response:
        return await get(self.admin_port, "localhost", target)

    async def model(self) -> dict[str, Any]:
        return dict((await self.admin("/debug/model")).json())

    async def generation(self) -> int:
        return int((await self.model())["generation"])

    async def reaches_generation(self, generation: int, *, seconds: float) -> float:
        """Wait for a publication; the seconds it took."""
        watch = Stopwatch()
        while await self.generation() < generation:
            assert watch.within(seconds), self.stderr
            await asyncio.sleep(_POLL_SECONDS)
        return watch.seconds

    async def findings(self) -> list[dict[str, str]]:
        return list((await self.admin("/debug/findings")).json())

    async def metrics(self) -> dict[str, Metric]:
        """Every family of `/metrics` by its name (of a counter without `_total`)."""
        page = (await self.admin("/metrics")).body.decode()
        return {family.name: family for family in text_string_to_metric_families(page)}

    async def logs(self, count: int, *, seconds: float = 5.0) -> list[dict[str, Any]]:
        """Wait for `count` lines of the JSON access log; all lines so far."""
        await until(lambda: len(self.access_lines) >= count, seconds=seconds)
        return [json.loads(line) for line in self.access_lines]

    def tell(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    async def has_ended(self, *, seconds: float = _STOP_SECONDS) -> int:
        """Wait for the end of the process; its exit status."""
        await until(lambda: self.exit_status is not None, seconds=seconds)
        return self._process.wait()

    async def stop(self) -> None:
        """SIGTERM, which must end it well: status 0 and nothing like a traceback on standard error."""
        if self.exit_status is None:
            self.tell(signal.SIGTERM)
        assert await self.has_ended() == 0, self.stderr
        assert "Traceback" not in self.stderr, self.stderr
        assert " ERROR " not in self.stderr, self.stderr

    def kill(self) -> None:
        """Whatever became of the test, leave no process behind."""
        if self.exit_status is None:
            self._process.kill()
        self._process.wait()


@asynccontextmanager
async def started(
    folder: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    anew: bool = False,
    through: Sequence[str] = (),
) -> AsyncIterator[Zonal]:
    """A process that was just started on a manifest folder; killed at the end if it still runs."""
    place = folder.parent / f"{folder.name}-output"
    place.mkdir(exist_ok=True)
    options = ("--source", str(folder), "--allow-local-endpoints", *arguments)
    zonal = Zonal(place, *options, environment=environment, anew=anew, through=through)
    try:
        yield zonal
    finally:
        zonal.kill()


@asynccontextmanager
async def running(
    folder: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    grace: str = "0",
    anew: bool = False,
    through: Sequence[str] = (),
) -> AsyncIterator[Zonal]:
    """A process that is ready, stopped by SIGTERM at the end unless the test has ended it."""
    options = ("--shutdown-grace-period", grace, *arguments)
    async with started(folder, *options, environment=environment, anew=anew, through=through) as zonal:
        await zonal.is_serving()
        await zonal.is_ready()
        yield zonal
        await zonal.stop()


class Ended(NamedTuple):
    """How a command ended, and what it said."""

    status: int
    out: str
    err: str


async def completed(*arguments: str, environment: Mapping[str, str] | None = None) -> Ended:
    """Run `zonal` with these arguments to its end."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        process = start(arguments, stdout=stdout, stderr=stderr, environment=environment or {})
        try:
            await until(lambda: process.poll() is not None, seconds=_STOP_SECONDS)
        finally:
            process.kill()
        out, err = (os.pread(file.fileno(), _OUTPUT_BYTES, 0).decode() for file in (stdout, stderr))
        return Ended(process.wait(), out, err)


async def until(is_so: Callable[[], bool], *, seconds: float) -> None:
    """Wait for a state, and fail if it does not come within `seconds` of a `Stopwatch`."""
    watch = Stopwatch()
    while not is_so():
        assert watch.within(seconds), "what was waited for did not come"
        await asyncio.sleep(_POLL_SECONDS)
