"""Active health checks: asks every endpoint of a backend in turn whether it is well, beside the request path.

One task for each backend with a check, shared by all its routes, on connections of its own. What it learns goes to the
backend's health; it must not know how that is used, nor anything of requests.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from contextlib import suppress

from balancer.backend import BackendRuntime
from balancer.members import Member
from balancer.model import BackendKey, HealthCheck

TCP = "tcp"
"""The path of a check that only connects."""

# Share of the interval: workers and replicas must not ask in step, and an operator's interval must stay recognisable.
_JITTER = 0.2
# Connections of checks at one time and backend: a thousand endpoints are asked in turns, not in one burst.
_AT_ONCE = 50
_STATUS_LINE_MAX = 1024  # bytes; what is longer is no status line

_REQUEST = "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: zonal-health\r\nConnection: close\r\n\r\n"


class Checks:
    """The checks of one worker. `chance` gives numbers from 0 to below 1."""

    def __init__(self, chance: Callable[[], float] = random.random) -> None:
        self._chance = chance
        self._runtimes: Mapping[BackendKey, BackendRuntime] = {}
        self._tasks: dict[tuple[BackendKey, HealthCheck], asyncio.Task[None]] = {}

    def follow(self, runtimes: Mapping[BackendKey, BackendRuntime]) -> None:
        """Check the backends among `runtimes` that ask for it, from now on and no others."""
        self._runtimes = runtimes
        wanted = {
            (key, runtime.backend.health_check)
            for key, runtime in runtimes.items()
            if runtime.backend.health_check is not None
        }
        for gone in self._tasks.keys() - wanted:
            self._tasks.pop(gone).cancel()
        for key, check in wanted - self._tasks.keys():
            self._tasks[key, check] = asyncio.get_running_loop().create_task(self._run(key, check))

    def stop(self) -> None:
        """Check nothing any more."""
        self.follow({})

    async def _run(self, key: BackendKey, check: HealthCheck) -> None:
        turn = asyncio.Semaphore(_AT_ONCE)
        wait = check.interval_seconds * self._chance()  # the first round anywhere in the interval
        while True:
            await asyncio.sleep(wait)
            members = tuple(self._runtimes[key].members.values())
            await asyncio.gather(*(self._judge(key, member, check=check, turn=turn) for member in members))
            wait = check.interval_seconds * (1.0 - _JITTER / 2 + _JITTER * self._chance())

    async def _judge(self, key: BackendKey, member: Member, *, check: HealthCheck, turn: asyncio.Semaphore) -> None:
        async with turn:
            passed = await is_well(member, check)
        runtime = self._runtimes.get(key)
        if runtime is not None:  # the backend may have gone while the endpoint was asked
            runtime.health.checked(member.health, passed=passed, threshold=check.threshold)


async def is_well(member: Member, check: HealthCheck) -> bool:
    """Whether an endpoint accepts a connection and, unless the check is `tcp`, answers with 200 to 399 in time.

    The statuses are those of the kubelet's HTTP probes. Never raises for what an endpoint does.
    """
    try:
        async with asyncio.timeout(check.timeout_seconds):
            return await _ask(member, check)
    except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):  # TimeoutError is an OSError
        return False


async def _ask(member: Member, check: HealthCheck) -> bool:
    endpoint = member.endpoint
    reader, writer = await asyncio.open_connection(endpoint.address, endpoint.port, limit=_STATUS_LINE_MAX)
    try:
        if check.path == TCP:
            return True
        writer.write(_REQUEST.format(path=check.path, host=member.label).encode("ascii"))
        return _is_success(await reader.readuntil(b"\r\n"))
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


def _is_success(status_line: bytes) -> bool:
    version, _, rest = status_line.partition(b" ")
    return version.startswith(b"HTTP/1.") and 200 <= int(rest[:3]) < 400
