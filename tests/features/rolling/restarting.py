"""Two replicas of the real process, restarted as a rolling update does: one is ready, then an old one stops."""

from __future__ import annotations

import asyncio
import itertools
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.fakes.endpoints import ScriptedEndpoint
from tests.fakes.stopwatch import Stopwatch
from tests.features.faults.load import Ledger, honest
from tests.features.faults.stage import manifests
from tests.features.rolling.balancing import LoadBalancer
from tests.features.rolling.crowd import Crowd
from tests.integration.running import Zonal

_REPLICAS = 2
_MARGIN_SECONDS = 2.0  # for Python itself to end, on a busy machine


class Times(NamedTuple):
    """How long things take, in seconds. `lag`: the least and the most until the load balancer follows readiness."""

    grace: float
    limit: float
    lag: tuple[float, float]


class Rollout:
    """The replicas. `exit_seconds` are the times from SIGTERM to the end of the process, of each that was stopped."""

    def __init__(self, place: Path, folder: Path, *, times: Times, balancer: LoadBalancer) -> None:
        self._place = place
        self._folder = folder
        self._times = times
        self._balancer = balancer
        self._numbers = itertools.count()
        self._replicas: list[Zonal] = []
        self._started: list[Zonal] = []
        self.exit_seconds: list[float] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Rollout]:
        try:
            for _ in range(_REPLICAS):
                self._replicas.append(await self._start())
            yield self
            await asyncio.gather(*map(self._stop, self._replicas))
        finally:
            for replica in self._started:
                replica.kill()

    async def restart(self) -> None:
        """Restart every replica: the next one starts while the one before it drains, which is waited for at the end."""
        async with asyncio.TaskGroup() as group:
            for number, old in enumerate(tuple(self._replicas)):
                self._replicas[number] = await self._start()
                group.create_task(self._stop(old))

    async def _start(self) -> Zonal:
        place = self._place / f"replica-{next(self._numbers)}"
        place.mkdir()
        replica = Zonal(
            place,
            *("--source", str(self._folder), "--allow-local-endpoints", "--access-log", "off"),
            *("--shutdown-grace-period", str(self._times.grace), "--drain-timeout", str(self._times.limit)),
        )
        self._started.append(replica)
        await replica.is_serving()
        await replica.is_ready()
        self._balancer.add(replica)
        return replica

    async def _stop(self, replica: Zonal) -> None:
        since_told = Stopwatch()
        replica.tell(signal.SIGTERM)
        status = await replica.has_ended(seconds=self._times.grace + self._times.limit + _MARGIN_SECONDS)
        assert status == 0, replica.stderr
        assert "Traceback" not in replica.stderr, replica.stderr
        self.exit_seconds.append(since_told.seconds)


class Result(NamedTuple):
    """What a whole series of restarts came to."""

    crowd: Crowd
    ledger: Ledger
    refused: int
    exit_seconds: list[float]


async def restarted(
    place: Path, *, restarts: int, times: Times, clients: tuple[int, int], every_seconds: float, seed: int
) -> Result:
    """Restart two replicas so many times under the load of `clients` that keep connections and `clients` that do not,
    each with `every_seconds` between its requests.
    """
    ledger = Ledger()
    async with ScriptedEndpoint(honest(ledger)) as one, ScriptedEndpoint(honest(ledger)) as other:
        folder = manifests(place, {"app": (one, other)}).place
        balancer = LoadBalancer(Random(seed), lag_seconds=times.lag)
        rollout = Rollout(place, folder, times=times, balancer=balancer)
        async with balancer.listening(), rollout.running():
            crowd = Crowd(balancer.port)
            keeping, passing = clients
            async with crowd.sending(keeping=keeping, passing=passing, every_seconds=every_seconds):
                for _ in range(restarts):
                    await rollout.restart()
    return Result(crowd, ledger, balancer.refused, rollout.exit_seconds)
