"""What one replica sees of zones and links, another hears: a zone event, and a replica that leaves load balancers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fakes.sockets import free_ports
from tests.fakes.stopwatch import Stopwatch
from tests.features.sick.clients import SickCrowd
from tests.features.sick.endpoints import SickEndpoint
from tests.integration.conversing import PATIENCE_SECONDS, comes, replicas
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
from tests.integration.running import Zonal
from tests.integration.shop import Shop

pytestmark = pytest.mark.slow

SERVICES = ("cart", "pay", "stock")
RATE = 40.0
SETTINGS = {"zone_aware_routing": "true", "zone_policy": "prefer-zone", "fleet_readiness": "on"}


class _Placed(NamedTuple):
    """An endpoint as its slice names it."""

    service: str
    zone: str
    port: int


class Fleet(NamedTuple):
    """Two replicas of zone-a, and for each Service its endpoints in zone-a and zone-b."""

    zonals: Sequence[Zonal]
    endpoints: dict[str, list[SickEndpoint]]

    @asynccontextmanager
    async def asked(self, place: int) -> AsyncIterator[None]:
        """One replica is asked for each Service, in the name of its place."""
        async with AsyncExitStack() as stack:
            for name in SERVICES:
                head = f"GET / HTTP/1.1\r\nHost: {name}.test\r\nX-Place: {place}\r\n\r\n".encode()
                crowd = SickCrowd(self.zonals[place].http_port, rate=RATE, request=head)
                await stack.enter_async_context(crowd.asking())
            yield

    async def findings(self, place: int, reason: str) -> list[str]:
        """The names of the objects about which a replica has findings with this reason."""
        found = (await self.zonals[place].admin("/debug/findings")).json()
        return [each["name"] for each in found if each["reason"] == reason]

    async def until_found(self, place: int, reason: str, names: list[str]) -> None:
        watch = Stopwatch()
        while (found := await self.findings(place, reason)) != names:
            assert watch.within(PATIENCE_SECONDS), (found, self.zonals[place].stderr)
            await asyncio.sleep(0.1)


@asynccontextmanager
async def fleet(place: Path) -> AsyncIterator[Fleet]:
    async with AsyncExitStack() as stack:
        endpoints = {name: [SickEndpoint(zone, seconds=0.002) for zone in ("zone-a", "zone-b")] for name in SERVICES}
        for each in (each for group in endpoints.values() for each in group):
            await each.start()
            stack.push_async_callback(each.stop)
        folder = ManifestFolder(place / "manifests")
        folder.write("settings.yaml", ingress_class(), config_map(ssl_redirect="false", **SETTINGS))
        for name, group in endpoints.items():
            slices = [endpoint_slice(_Placed(name, each.zone, each.endpoint.port)) for each in group]
            folder.write(f"{name}.yaml", service(name), ingress(name, rule(f"{name}.test", path("/", name))), *slices)
        ports = free_ports(2)
        opened = replicas(Shop(folder, ()), place, ("zone-a", "zone-a"), ports)
        zonals = await stack.enter_async_context(opened)
        for zonal in zonals:
            await comes(zonal, 1.0, "zonal_fleet_peers", state="up")
        yield Fleet(zonals, endpoints)


async def test_a_zone_that_one_replica_leaves_is_one_event_at_another_without_requests(tmp_path: Path) -> None:
    async with fleet(tmp_path) as running, running.asked(0):
        for name in SERVICES[:2]:
            running.endpoints[name][0].failing = 1.0
        for place in (0, 1):
            await running.until_found(place, "ZoneEvent", ["zone-a"])
        assert await running.findings(1, "ZoneSick") == [], "it has met no failure itself"
        for name in SERVICES[:2]:
            running.endpoints[name][0].failing = 0.0
        for place in (0, 1):
            await running.until_found(place, "ZoneEvent", [])


async def ready(zonal: Zonal) -> bool:
    return (await zonal.admin("/readyz")).status == 200


async def test_a_replica_whose_own_links_are_sick_makes_itself_unready(tmp_path: Path) -> None:
    async with fleet(tmp_path) as running, running.asked(0), running.asked(1):
        sick, well = running.zonals
        assert await ready(sick) and await ready(well)
        for each in (each for group in running.endpoints.values() for each in group):
            each.breaks_on = lambda head: b"x-place: 0" in head.lower()
        watch = Stopwatch()
        while await ready(sick):
            assert watch.within(PATIENCE_SECONDS), sick.stderr
            await asyncio.sleep(0.1)
        assert await ready(well)
        await comes(sick, 1.0, "zonal_fleet_sick_links")
