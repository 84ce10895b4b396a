"""Runs the app on an event loop: uvloop where there is one, asyncio's own otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ingress.app import App
from ingress.logs import configure_logs
from ingress.options import RunOptions


class NoEventLoop(Exception):
    """The event loop that was asked for is not there; the message is one line for the user."""


def run_app(options: RunOptions) -> None:
    """Serve until told to stop. Raises `CannotListen` or what the source raises when it cannot be read."""
    configure_logs(level=options.log_level, log_format=options.log_format)
    with asyncio.Runner(loop_factory=loop_factory(options.event_loop)) as runner:
        runner.run(_serve(options))


async def _serve(options: RunOptions) -> None:
    await App(options).run()


def loop_factory(name: str) -> Callable[[], asyncio.AbstractEventLoop] | None:
    """How to make the event loop called `name`: asyncio, uvloop, or auto (uvloop if it is installed)."""
    if name == "asyncio":
        return None
    try:
        import uvloop
    except ImportError:
        if name == "uvloop":
            raise NoEventLoop("--event-loop uvloop: uvloop is not installed") from None
        return None
    return uvloop.new_event_loop
