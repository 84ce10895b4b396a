"""Chooses the event loop of a process: uvloop if it is installed, else asyncio's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class NoEventLoop(Exception):
    """The requested event loop is not available. The message is one line for the user."""


def loop_factory(name: str) -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The factory of the event loop `name`: asyncio, uvloop, or auto (uvloop if it is installed).

    None means asyncio's own loop, as `asyncio.Runner` accepts it. Raises `NoEventLoop`.
    """
    if name == "asyncio":
        return None
    try:
        import uvloop
    except ImportError:
        if name == "uvloop":
            raise NoEventLoop("--event-loop uvloop: uvloop is not installed") from None
        return None
    return uvloop.new_event_loop
