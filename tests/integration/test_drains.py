"""Drains that end by themselves, and replicas of a drained zone that leave load balancers, over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.fakes.sockets import PATIENCE_SECONDS
from tests.integration.manifests import Document, ManifestFolder, service
from tests.integration.running import Zonal, running
from tests.integration.shop import HOST, shop
from tests.integration.wire import get

_ZONES = ("zone-a", "zone-b")


async def becomes(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await is_so():  # noqa: ASYNC110 - what is waited for is another process
            await asyncio.sleep(0.02)


def ours(*zones: str) -> tuple[Document, ...]:
    """Our own Service, with a ready replica in each of these zones."""
    item = service("zonal", namespace="zonal")
    slices = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "zonal-1",
            "namespace": "zonal",
            "labels": {"kubernetes.io/service-name": "zonal"},
        },
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8080}],
        "endpoints": [
            {"addresses": [f"10.0.0.{number}"], "conditions": {"ready": True}, "zone": zone}
            for number, zone in enumerate(zones, 1)
        ],
    }
    return item, slices


async def drained(zonal: Zonal) -> list[str]:
    return list((await zonal.model())["model"]["zones"]["drained"])


async def readiness(zonal: Zonal) -> tuple[int, str]:
    answer = await zonal.admin("/readyz")
    return answer.status, answer.body.decode().strip()


async def test_a_drain_ends_by_itself_without_a_change_of_the_cluster(tmp_path: Path) -> None:
    async with shop(tmp_path, zone_aware_routing="true") as place, running(place.place, "--zone", "zone-a") as zonal:
        end = datetime.now(UTC) + timedelta(seconds=3)
        place.write_settings(
            zone_aware_routing="true",
            zone_drain_ramp="1ms",
            zone_drain=f"zone-b, zone-a until={end.isoformat(timespec='milliseconds').replace('+00:00', 'Z')}",
        )
        # On a machine that sleeps meanwhile, the drain is over before it is seen. Then it is told as over at once.
        await becomes(lambda: _is_known(zonal))
        await becomes(lambda: _is_over(zonal))
        assert datetime.now(UTC) >= end
        [told] = [each for each in await zonal.findings() if each["reason"] == "ZoneDrainOver"]
        assert (told["kind"], told["severity"]) == ("ConfigMap", "cosmetic")
        assert await drained(zonal) == ["zone-b"]
        assert (await get(zonal.http_port, HOST)).json()["zone"] == "zone-a"


async def _is_known(zonal: Zonal) -> bool:
    return "zone-b" in await drained(zonal)


async def _is_over(zonal: Zonal) -> bool:
    return await drained(zonal) == ["zone-b"]


async def test_replicas_of_a_drained_zone_are_unready_while_others_are_known(tmp_path: Path) -> None:
    async with shop(tmp_path, zone_aware_routing="true") as place:
        folder: ManifestFolder = place.folder
        folder.write("ours.yaml", *ours(*_ZONES))
        async with running(place.place, "--zone", "zone-a", "--publish-service", "zonal/zonal") as zonal:
            leaves = {"zone_aware_routing": "true", "zone_drain_replicas": "true"}
            place.write_settings(**leaves, zone_drain="zone-a")
            answer = await zonal.is_unready()
            assert (answer.status, b"zone zone-a is drained" in answer.body) == (503, True)
            assert (await zonal.admin("/livez")).status == 200
            assert (await get(zonal.http_port, HOST)).status == 200, "those who still come are served"

            async def is_ready() -> bool:
                return (await readiness(zonal))[0] == 200

            async def is_unready() -> bool:
                return not await is_ready()

            folder.write("ours.yaml", *ours("zone-a"))  # the last other replica is gone, as far as is known
            await becomes(is_ready)
            folder.write("ours.yaml", *ours(*_ZONES))
            await becomes(is_unready)
            place.write_settings(**leaves, zone_drain="zone-a,zone-b")  # the others are drained, too
            await becomes(is_ready)
            place.write_settings(**leaves, zone_drain="zone-a")
            await becomes(is_unready)
            place.write_settings(**leaves, zone_drain="")
            await becomes(is_ready)


async def test_without_the_option_a_drain_is_no_matter_of_readiness(tmp_path: Path) -> None:
    async with shop(tmp_path, zone_aware_routing="true") as place:
        place.folder.write("ours.yaml", *ours(*_ZONES))
        async with running(place.place, "--zone", "zone-a", "--publish-service", "zonal/zonal") as zonal:
            place.write_settings(zone_aware_routing="true", zone_drain="zone-a")
            await becomes(lambda: _has_drained(zonal))
            assert await readiness(zonal) == (200, "ok")


async def _has_drained(zonal: Zonal) -> bool:
    return await drained(zonal) == ["zone-a"]
