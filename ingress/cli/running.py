"""Runs the app: sets up the log, then runs the chosen event loop."""

from __future__ import annotations

import asyncio
import os

from balancer.logs.stderr import configure_logs
from balancer.runtime.loops import loop_factory
from ingress.app import App
from ingress.fleet_trust import fleet_trust
from ingress.settings.options import RunOptions

_INTERRUPTED = 130  # 128 and the number of SIGINT, as shells say it


def run_app(options: RunOptions) -> None:
    """Serves until told to stop. Raises `CannotListen`, `NoEventLoop`, or what the source raises at its start."""
    configure_logs(level=options.log_level, log_format=options.log_format)
    with asyncio.Runner(loop_factory=loop_factory(options.event_loop)) as runner:
        try:
            if runner.run(_serve(options)):
                return
            status = 0
        except KeyboardInterrupt:  # before anything was served: later SIGINT is a signal like others
            status = _INTERRUPTED
        os._exit(status)  # a thread that reads a large folder for the first time cannot be stopped


async def _serve(options: RunOptions) -> bool:
    return await App(options, await fleet_trust(options)).run()
