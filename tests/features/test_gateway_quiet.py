"""Once nothing changes, two replicas write nothing but their Leases, whoever of them ends and starts again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

from tests.bench.gateway_churn.objects import STAYING, Plan, gateway, gateway_class, route, services
from tests.fakes.apiserver import ApiServer
from tests.features.gateway.api_stage import balance, free_range, furnish, options
from tests.integration.running import Zonal

PLAN = Plan(listeners=4, routes=40)
FASTER = "--time-scale=0.02"
"""The writer looks at everything every 1.2 s, and the leader renews its Lease more often than that."""

RENEWALS = 40
"""Renewals of a Lease in a time that counts as quiet: 300 s, were it not for the scale."""

PATIENCE_SECONDS = 120.0
POLL_SECONDS = 0.05

_WRITES = frozenset(("create", "update", "patch", "delete"))


class Replicas:
    """Two replicas, of which one leads, and what the API server was asked to write."""

    def __init__(self, place: Path, server: ApiServer) -> None:
        self.server = server
        self._place = place
        self._kubeconfig = server.write_kubeconfig(place / "kubeconfig")
        self._ports = free_range(8)
        self._count = 0

    async def start(self, number: int) -> Zonal:
        self._count += 1
        own = self._place / f"start-{self._count}"
        own.mkdir()
        said = (f"--bind-address=127.0.0.{number + 1}", FASTER)
        started = Zonal(own, *options(self._kubeconfig, self._ports, f"zonal-{number}"), *said)
        await started.is_serving()
        await started.is_ready()
        return started

    @property
    def leader(self) -> int:
        """The number of the replica that leads."""
        lease = self.server.get("Lease", "zonal", "zonal-leader")
        holder = str(lease["spec"].get("holderIdentity", "")) if lease is not None else ""
        return int(holder.partition("zonal-")[2][:1] or -1)

    def is_written(self) -> bool:
        """Whether every status says what is true."""
        balance(self.server)
        routes = self.server.objects("HTTPRoute")
        said = self.server.get("Gateway", "shop", STAYING) or {}
        listeners = said.get("status", {}).get("listeners", ())
        is_programmed = any(
            (each["type"], each["status"]) == ("Programmed", "True")
            for each in said.get("status", {}).get("conditions", ())
        )
        counted = [each["attachedRoutes"] for each in listeners]
        return is_programmed and sum(counted) == len(routes) and all(each.get("status") for each in routes)

    async def becomes(self, is_so: Callable[[], bool]) -> None:
        """Waits until something is so."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not is_so():  # noqa: ASYNC110 - what is waited for comes from other processes
                await asyncio.sleep(POLL_SECONDS)

    async def written_while_quiet(self) -> Counter[str]:
        """What is written while the leader renews its Lease so often, but for Leases."""
        begun = len(self.server.calls)

        def renewals() -> int:
            return sum(each.name == "zonal-leader" and each.verb in _WRITES for each in self.server.calls[begun:])

        await self.becomes(lambda: renewals() >= RENEWALS)
        calls = [each for each in self.server.calls[begun:] if each.verb in _WRITES and each.resource != "leases"]
        return Counter(f"{each.verb} {each.path}" for each in calls)


async def test_two_replicas_write_nothing_once_quiet_whoever_starts_again(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(ApiServer())
        furnish(server)
        numbers = range(PLAN.routes)
        staying = [each for each in numbers if PLAN.listener_of(each) >= PLAN.coming]
        own = gateway(STAYING, list(range(PLAN.coming, PLAN.listeners)))
        for each in (gateway_class(), own, *services(), *(route(PLAN, number, 0) for number in staying)):
            server.put(each)
        replicas = Replicas(tmp_path, server)
        running = [await replicas.start(number) for number in (0, 1)]
        stack.callback(_kill, running)
        await replicas.becomes(replicas.is_written)
        await replicas.becomes(lambda: replicas.leader >= 0)
        await replicas.written_while_quiet()  # what was still on its way
        assert await replicas.written_while_quiet() == {}

        follower = 1 - replicas.leader
        running[follower].kill()
        running[follower] = await replicas.start(follower)
        assert await replicas.written_while_quiet() == {}

        leader = replicas.leader
        running[leader].kill()
        await replicas.becomes(lambda: replicas.leader not in {-1, leader})
        running[leader] = await replicas.start(leader)
        assert await replicas.written_while_quiet() == {}
        assert replicas.is_written()


def _kill(running: list[Zonal]) -> None:
    for each in running:
        each.kill()
