"""Keeps a task at work: an unexpected exception is logged and told, and the work begins again after a pause.

For work without an end that something waits for, or whose absence nobody would notice. Does not know what the work is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

_LOG = logging.getLogger(__name__)

PAUSE_SECONDS = 5.0
"""Between a failure and the next try; each try may fail with a traceback in the log."""

_PROOF_PAUSES: Final = 12  # of work without a failure are a proof that it works: a minute
_PROOF_PAUSES_MOST: Final = 120  # so many always are


class Failures:
    """The failures of a task that has not proved since that it works. No clock.

    `count` is how many there are, `proof_seconds` how long the task has to work without another one until they count no
    more. A task that failed after a while may do so again, so it has to work for twice as long.
    """

    __slots__ = ("_least_seconds", "_most_seconds", "count", "proof_seconds")

    def __init__(self, *, pause_seconds: float) -> None:
        self._least_seconds = _PROOF_PAUSES * pause_seconds
        self._most_seconds = _PROOF_PAUSES_MOST * pause_seconds
        self.count = 0
        self.proof_seconds = self._least_seconds

    def note(self, worked_seconds: float) -> None:
        """Counts one, before which the task has worked for so long."""
        self.count += 1
        self.proof_seconds = min(max(self.proof_seconds, 2 * worked_seconds), self._most_seconds)

    def forget(self) -> None:
        """The task has proved that it works."""
        self.count = 0
        self.proof_seconds = self._least_seconds

    def told(self, error: Exception) -> str:
        """The problem in a few words. They change where the count doubles, because an object is written for each."""
        least = 1 << (self.count.bit_length() - 1)
        often = f" {least} times or more" if least > 1 else ""
        return f"{type(error).__name__}{often}, which is a bug in zonal"


async def kept_at_work(
    work: Callable[[], Awaitable[None]],
    *,
    what: str,
    told: Callable[[str], None] = lambda _: None,
    pause_seconds: float = PAUSE_SECONDS,
) -> None:
    """Runs `work` again and again, without end. Only cancellation ends it.

    After a failure `told` gets the problem in a few words, so that whoever waits for the work learns of it. It gets an
    empty text when the work has proved that it goes on (`Failures`).
    """
    loop = asyncio.get_running_loop()
    failures = Failures(pause_seconds=pause_seconds)
    proving: asyncio.TimerHandle | None = None

    def proved() -> None:
        failures.forget()
        told("")

    began = loop.time()
    try:
        while True:
            try:
                await work()
            except Exception as error:
                if proving is not None:
                    proving.cancel()
                failures.note(loop.time() - began)
                _LOG.exception("%s failed (%d in a row); trying again in %g s", what, failures.count, pause_seconds)
                told(failures.told(error))
                await asyncio.sleep(pause_seconds)
                began = loop.time()
                proving = loop.call_later(failures.proof_seconds, proved)
            else:
                await asyncio.sleep(pause_seconds)
    finally:
        if proving is not None:
            proving.cancel()
