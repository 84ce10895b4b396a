"""Keeps a task at work: an unexpected exception is logged and told, and the work begins again after a pause.

For work without an end that something waits for, or whose absence nobody would notice. Does not know what the work is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

_LOG = logging.getLogger(__name__)

PAUSE_SECONDS = 5.0
"""Between a failure and the next try; each try may fail with a traceback in the log."""


async def kept_at_work(
    work: Callable[[], Awaitable[None]],
    *,
    what: str,
    told: Callable[[str], None] = lambda _: None,
    pause_seconds: float = PAUSE_SECONDS,
) -> None:
    """Runs `work` again and again, without end. Only cancellation ends it.

    After a failure `told` gets the problem in a few words, so that whoever waits for the work learns of it; before the
    next try it gets an empty text.
    """
    while True:
        try:
            await work()
        except Exception as error:
            _LOG.exception("%s failed; trying again in %g s", what, pause_seconds)
            told(f"{type(error).__name__}, which is a bug in zonal")
            await asyncio.sleep(pause_seconds)
            told("")
        else:
            await asyncio.sleep(pause_seconds)
