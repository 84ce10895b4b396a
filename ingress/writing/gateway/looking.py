"""Looks again and again at what is to be written for Gateway API: after a pause, or as soon as something has changed.

Does not know what is looked at, nor what is written.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, NoReturn

_LOG = logging.getLogger(__name__)

USE_SECONDS: Final = 0.02
"""Between two questions whether the workers serve the newest model."""


async def look_without_end(
    look: Callable[[], Awaitable[float]],
    woken: asyncio.Event,
    *,
    of: str,
    interval_seconds: float,
    quiet_seconds: float,
) -> NoReturn:
    """Calls `look`, which returns the seconds until it is called again, or sooner if `woken` is set.

    Between two looks pass `quiet_seconds` at least. `of` names for the log what a look that raises was at; the next one
    follows after `interval_seconds`. Only cancellation ends it.
    """
    while True:
        woken.clear()
        try:
            pause_seconds = await look()
        except Exception:
            _LOG.exception("a look at the %s failed", of)  # a bug; the next look may succeed
            pause_seconds = interval_seconds
        with suppress(TimeoutError):
            async with asyncio.timeout(pause_seconds):
                await woken.wait()
        await asyncio.sleep(quiet_seconds)


async def until_soon(is_true: Callable[[], bool], *, seconds: float, pause_seconds: float = USE_SECONDS) -> None:
    """Waits until `is_true`, but no longer than so many seconds. Asks again after each pause."""
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + seconds
    while not is_true():
        if loop.time() >= ends_at:
            return
        await asyncio.sleep(pause_seconds)
