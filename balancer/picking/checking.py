"""Runs active health checks: decides when each endpoint of a backend is probed, and reports results to its health.

Each backend with a check has one task, which all its routes share. Does not know how an endpoint is probed
(`connections/probing.py`), how health is used, nor anything about requests.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import TypeAlias
from weakref import WeakValueDictionary

from balancer.model.endpoints import BackendKey, HealthCheck
from balancer.model.handshakes import Handshake
from balancer.picking.backend import BackendRuntime
from balancer.picking.endpoint_health import Change
from balancer.picking.members import Member
from balancer.runtime.supervising import kept_at_work

# Share of the interval by which checks vary, so that workers and replicas do not probe in step, and the operator's
# interval stays recognisable.
_JITTER = 0.2
# The most concurrent checks of a backend, so that a thousand endpoints are not probed in one burst.
_AT_ONCE = 50
# The most of all backends of a namespace, so that no tenant fills the worker with checks that get no answer.
_OF_NAMESPACE = 200

OnChange: TypeAlias = Callable[[BackendRuntime, Member, Change], None]
"""Called when an endpoint begins to fail its checks, or passes them again."""

Probe: TypeAlias = Callable[[Member, HealthCheck, Handshake | None], Awaitable[bool]]
"""Probes an endpoint once, with TLS or without. Returns whether the endpoint is healthy. Never raises."""


class Checks:
    """The checks of one worker. `chance` returns numbers from 0 to below 1."""

    def __init__(self, on_change: OnChange, *, probe: Probe, chance: Callable[[], float] = random.random) -> None:
        self._on_change = on_change
        self._probe = probe
        self._chance = chance
        self._runtimes: Mapping[BackendKey, BackendRuntime] = {}
        self._tasks: dict[BackendKey, tuple[HealthCheck, asyncio.Task[None]]] = {}
        # Forgotten when no check of the namespace is left that holds on to it.
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    def follow(self, runtimes: Mapping[BackendKey, BackendRuntime], concerned: Iterable[BackendKey]) -> None:
        """From now on checks the `concerned` backends that are in `runtimes` and have a check, and no others of
        these. All other backends are checked as before.
        """
        self._runtimes = runtimes
        for key in concerned:
            runtime = runtimes.get(key)
            check = None if runtime is None else runtime.backend.health_check
            if check is not None or key in self._tasks:
                self._turn_to(key, check)

    def stop(self) -> None:
        """Stops all checks."""
        self.follow({}, tuple(self._tasks))

    def _turn_to(self, key: BackendKey, check: HealthCheck | None) -> None:
        known, task = self._tasks.get(key, (None, None))
        if known == check:
            return
        if task is not None:
            task.cancel()
            del self._tasks[key]
        if check is not None:
            self._tasks[key] = (
                check,
                asyncio.get_running_loop().create_task(
                    kept_at_work(partial(self._run, key, check), what=f"checking endpoints of {key}")
                ),
            )

    async def _run(self, key: BackendKey, check: HealthCheck) -> None:
        turn = asyncio.Semaphore(_AT_ONCE)
        wait = check.interval_seconds * self._chance()  # the first round is at a random time of the interval
        while True:
            await asyncio.sleep(wait)
            runtime = self._runtimes.get(key)
            if runtime is None:  # the backend has gone, and this task is about to be cancelled
                return
            namespace = runtime.backend.namespace
            turns = turn, self._turns.setdefault(namespace, asyncio.Semaphore(_OF_NAMESPACE))
            members = tuple(runtime.members.values())
            await asyncio.gather(*(self._judge(key, member, check=check, turns=turns) for member in members))
            wait = check.interval_seconds * (1.0 - _JITTER / 2 + _JITTER * self._chance())

    async def _judge(
        self, key: BackendKey, member: Member, *, check: HealthCheck, turns: tuple[asyncio.Semaphore, asyncio.Semaphore]
    ) -> None:
        of_backend, of_namespace = turns
        async with of_backend, of_namespace:
            runtime = self._runtimes.get(key)
            passed = runtime is not None and await self._probe(member, check, runtime.handshake)
        runtime = self._runtimes.get(key)
        if runtime is None:  # the backend has gone meanwhile
            return
        change = runtime.health.checked(member.health, passed=passed, threshold=check.threshold)
        if change is not None:
            self._on_change(runtime, member, change)
