"""Times that a busy machine does not lengthen: waiting for a processor is nobody's delay.

Responsible for measuring. It must not know what is measured.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

_MOST_WAITING_SECONDS = 60.0  # so that what never comes ends a test on any machine
_LOOK_SECONDS = 0.1
_FIRST_LINE_BYTES = 256
_STOLEN = 8  # the column of the first line of /proc/stat (proc(5))


class Stopwatch:
    """The seconds since it was made, without those in which this process and its descendants waited for a processor.

    What a test waits for passes through these processes one after the other, so the sum of their waiting is what the
    machine has added, and so is the time in which other virtual machines had its processors. On an idle machine the sum
    is next to nothing, and a limit is as strict as on a clock. Where Linux does not say how long threads have waited,
    the seconds are those of the clock.
    """

    def __init__(self) -> None:
        self._waits = dict(_waits())
        self._before = sum(self._waits.values())
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Never negative."""
        wall = time.monotonic() - self._began
        self._waits.update(_waits())  # of a thread that has ended, the last that was seen counts on
        return max(0.0, wall - (sum(self._waits.values()) - self._before))

    def within(self, limit_seconds: float) -> bool:
        """Whether `seconds` is below a limit. Cheap for a loop that polls, until the clock has passed the limit."""
        wall = time.monotonic() - self._began
        return wall < limit_seconds or (wall < limit_seconds + _MOST_WAITING_SECONDS and self.seconds < limit_seconds)


@asynccontextmanager
async def unhurried(seconds: float) -> AsyncIterator[None]:
    """As `asyncio.timeout`, in seconds of a `Stopwatch`. Raises TimeoutError."""
    watch = Stopwatch()
    async with asyncio.timeout(None) as limit:
        looking = asyncio.create_task(_end_late(limit, watch, seconds))
        try:
            yield
        finally:
            looking.cancel()


async def _end_late(limit: asyncio.Timeout, watch: Stopwatch, seconds: float) -> None:
    await asyncio.sleep(seconds)
    while watch.within(seconds):  # noqa: ASYNC110 - what is waited for is time of the kernel
        await asyncio.sleep(_LOOK_SECONDS)
    limit.reschedule(asyncio.get_running_loop().time())


def _waits() -> Iterator[tuple[str, float]]:
    """The threads of this process and its descendants, each with the seconds in which it could have run but waited; and
    what other machines took.

    Source: Documentation/scheduler/sched-stats.rst of Linux, /proc/<pid>/schedstat.
    """
    with suppress(OSError), open("/proc/stat", "rb", buffering=0) as file:
        yield "stolen", stolen_seconds(file.read(_FIRST_LINE_BYTES))
    pids = [str(os.getpid())]
    for pid in pids:
        with suppress(OSError):
            for thread in Path("/proc", pid, "task").iterdir():
                with suppress(OSError, ValueError):
                    _, waited, _ = (thread / "schedstat").read_bytes().split()
                    yield str(thread), int(waited) / 1e9
                    pids += (thread / "children").read_text().split()


def stolen_seconds(said: bytes) -> float:
    """How long virtual processors waited for real ones, by the first line of /proc/stat; 0 if it does not say that."""
    columns = said.partition(b"\n")[0].split()
    return int(columns[_STOLEN]) / os.sysconf("SC_CLK_TCK") if len(columns) > _STOLEN else 0.0
