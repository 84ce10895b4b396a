"""What one worker of a process has ejected, no other worker meets anew; and what is back for one is back for all."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

from tests.fakes.clients import RawClient
from tests.features.sick.endpoints import SickEndpoint
from tests.features.zones.stage import GET
from tests.integration.manifests import (
    ManifestFolder,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
)
from tests.integration.running import Zonal, running

WORKERS = 3
CONNECTIONS = 24  # so many that each worker has some of them, but for one time in ten thousand


class _Cart(NamedTuple):
    """An endpoint as its slice names it."""

    zone: str
    port: int
    service: str = "cart"


async def test_an_endpoint_that_one_worker_ejected_costs_the_others_nothing(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        sick, *others = [SickEndpoint("zone-a", seconds=0.0) for _ in range(3)]
        for each in (sick, *others):
            await each.start()
            stack.push_async_callback(each.stop)
        folder = ManifestFolder(tmp_path / "manifests")
        folder.write(
            "shop.yaml",
            ingress_class(),
            service("cart"),
            ingress("web", rule("shop.test", path("/", "cart"))),
            config_map(ssl_redirect="false", ejection_time="3s", keep_alive_requests="1000000"),
            *(endpoint_slice(_Cart(each.zone, each.port)) for each in (sick, *others)),
        )
        zonal = await stack.enter_async_context(running(folder.place, f"--workers={WORKERS}"))
        clients = [await stack.enter_async_context(RawClient(zonal.http_port)) for _ in range(CONNECTIONS)]
        sick.failing = 1.0
        while not await _ejecting(zonal):
            await clients[0].ask(GET)  # one connection, so one worker meets all failures
        async with asyncio.timeout(60):
            while await _ejecting(zonal) < WORKERS:  # noqa: ASYNC110 -- what is waited for is another process
                await asyncio.sleep(0.05)
        met = len(sick.came_at)
        answers = [await client.ask(GET) for client in clients for _ in range(3)]
        probes = len(sick.came_at) - met
        assert probes <= WORKERS, "a worker probes when the time is over, and asks nothing else"
        assert sum(answer.status != 200 for answer in answers) <= probes
        sick.failing = 0.0
        async with asyncio.timeout(120):
            while await _ejecting(zonal):
                await clients[0].ask(GET)  # the worker that has requests takes it back, and the others with it
        samples = (await zonal.metrics())["zonal_ejections"].samples
        ejections = sum(sample.value for sample in samples if sample.name.endswith("_total"))
        assert ejections <= 1 + probes, "one of three workers counts it"


async def _ejecting(zonal: Zonal) -> int:
    """For how many workers an endpoint is ejected."""
    return sum(row["workers"] for row in (await zonal.model())["health"] if row["state"] == "ejected")
