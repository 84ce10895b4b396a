"""Drains a fleet, and logs each step of the drain with its time. Does not know who asked for the drain."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from balancer.workers.fleet import Fleet

_LOG = logging.getLogger(__name__)

_REMINDER_SECONDS: Final = 10.0
_CLIENTS: Final = (("client_active",), ("client_idle",))  # states of connections; those of HTTP/2 are among them


async def say_farewell(
    fleet: Fleet,
    *,
    grace_seconds: float,
    limit_seconds: float,
    reminder_seconds: float = _REMINDER_SECONDS,
) -> None:
    """Drains `fleet` (see `Fleet.drain`). Every `reminder_seconds` the log says how many connections are left."""
    began = asyncio.get_running_loop().time()
    telling = asyncio.create_task(_tell(fleet, began, grace_seconds, limit_seconds, reminder_seconds))
    try:
        await fleet.drain(grace_seconds=grace_seconds, limit_seconds=limit_seconds)
    finally:
        telling.cancel()
        await asyncio.wait({telling})
    _LOG.info("drained: all workers are gone after %.1f s", asyncio.get_running_loop().time() - began)


async def _tell(
    fleet: Fleet, began: float, grace_seconds: float, limit_seconds: float, reminder_seconds: float
) -> None:
    loop = asyncio.get_running_loop()
    if grace_seconds:
        _LOG.info(
            "draining: new connections are accepted for %g s more, and each answer ends its connection", grace_seconds
        )
        await asyncio.sleep(grace_seconds)
    _LOG.info(
        "draining: the ports are closed after %.1f s; connections have %g s to end", loop.time() - began, limit_seconds
    )
    while True:
        left = await _clients_left(fleet)
        counted = "1 client connection is" if left == 1 else f"{left} client connections are"
        _LOG.info("draining: %s left after %.1f s", counted, loop.time() - began)
        await asyncio.sleep(reminder_seconds)


async def _clients_left(fleet: Fleet) -> int:
    connections = (await fleet.report()).connections
    return int(sum(connections.get(state, 0.0) for state in _CLIENTS))
