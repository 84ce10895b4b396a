"""A worker killed every minute: what it held, and when its successor serves.

Responsible for the kill and for knowing its victims exactly: the worker is stopped first, so that it accepts nothing
between the look at its connections and its end.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time

from tests.bench.soak.process import Running
from tests.bench.soak.tally import Kill
from tests.integration.processes import peers, sockets, state, workers

_PATIENCE_SECONDS = 15.0
_POLL_SECONDS = 0.02


async def kill(running: Running, *, own_sockets: int) -> Kill:
    """SIGKILL to the youngest worker, so that the oldest tells what a long life does; wait for its successor.

    A worker that holds more than `own_sockets` serves.
    """
    before = workers(running.pid)
    pid, ports = before[-1], {running.http_port, running.https_port}
    os.kill(pid, signal.SIGSTOP)
    while state(pid) not in ("T", "Z", ""):  # noqa: ASYNC110 - another process's state
        await asyncio.sleep(0)
    held = frozenset(peers(pid, ports))
    at = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    return Kill(at, pid, held, await _until_replaced(running, set(before), at, own_sockets=own_sockets))


async def _until_replaced(running: Running, before: set[int], at: float, *, own_sockets: int) -> float | None:
    """The seconds until a worker that was not there before holds a connection."""
    while time.monotonic() - at < _PATIENCE_SECONDS:
        if any(len(sockets(pid)) > own_sockets for pid in workers(running.pid) if pid not in before):
            return time.monotonic() - at
        await asyncio.sleep(_POLL_SECONDS)
    return None
