"""Tells how endpoints do that failed lately, a moment after that changes and while they are watched."""

from __future__ import annotations

import time
from asyncio import TimerHandle
from collections.abc import Callable
from typing import Final

from balancer.picking.failing import FailingEndpoints, FailingRow

TELL_SECONDS: Final = 0.1
"""Between a change and what is told about it."""

Later = Callable[[float, Callable[[], None]], TimerHandle]
"""`call_later` of an event loop."""


class FailingTelling:
    """Tells `say` what is new about endpoints that are watched. Without such endpoints it costs nothing."""

    __slots__ = ("_failing", "_is_due", "_later", "_say")

    def __init__(self, failing: FailingEndpoints, later: Later, say: Callable[[tuple[FailingRow, ...]], None]) -> None:
        self._failing = failing
        self._later = later
        self._say = say
        self._is_due = False
        failing.wake = self._wake

    def _wake(self) -> None:
        if not self._is_due:
            self._is_due = True
            self._later(TELL_SECONDS, self._tell)

    def _tell(self) -> None:
        self._is_due = False
        rows, goes_on = self._failing.news(time.perf_counter())  # the clock of picks
        if rows:
            self._say(tuple(rows))
        if goes_on:
            self._wake()
