"""Ends tasks that have no end of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence


async def end_all(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancels the tasks and waits until they are done. How they ended is their own matter."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
