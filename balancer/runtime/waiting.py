"""Bounds what a task waits for as `asyncio.timeout` does, but by the time in which the loop turned."""

from __future__ import annotations

import asyncio
from types import TracebackType

from balancer.runtime.absences import Absences, AttendedWait


class Bounded:
    """Raises TimeoutError within `async with` once the loop has turned for `seconds` (`absences.py`)."""

    __slots__ = ("_absences", "_loop", "_seconds", "_timeout", "_timer", "_wait")

    def __init__(self, seconds: float, absences: Absences) -> None:
        self._seconds = seconds
        self._absences = absences
        self._loop = asyncio.get_running_loop()
        self._timeout = asyncio.timeout(None)

    async def __aenter__(self) -> None:
        loop = self._loop
        self._wait = AttendedWait(self._seconds, loop.time(), self._absences)
        await self._timeout.__aenter__()
        self._timer = loop.call_later(self._seconds, self._look)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        await self._timeout.__aexit__(kind, error, trace)

    def _look(self) -> None:
        loop = self._loop
        now = loop.time()
        if left := self._wait.left(now):
            self._timer = loop.call_later(left, self._look)
        else:
            self._timeout.reschedule(now)
