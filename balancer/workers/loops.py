"""Which event loop a process runs on: uvloop where there is one, asyncio's own otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class NoEventLoop(Exception):
    """The event loop that was asked for is not there; the message is one line for the user."""


def loop_factory(name: str) -> Callable[[], asyncio.AbstractEventLoop] | None:
    """How to make the event loop called `name`: asyncio, uvloop, or auto (uvloop if it is installed).

    None is asyncio's own, as `asyncio.Runner` takes it. Raises `NoEventLoop`.
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
