"""A limit of the fleet is one for all replicas that tell each other."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from tests.fakes.sockets import free_ports
from tests.fakes.stopwatch import Stopwatch
from tests.integration.conversing import (
    comes,
    passing,
    replicas,
)
from tests.integration.manifests import ingress, path, rule
from tests.integration.shop import HOST, shop


async def test_a_limit_of_twenty_a_second_is_one_for_all_replicas(tmp_path: Path) -> None:
    """Each of them is asked more often than that. What is too much at first is bounded by the delay between them."""
    found = await asyncio.gather(*(passed(tmp_path, count) for count in (2, 3)))
    for count, (counts, attended_seconds) in zip((2, 3), found, strict=True):
        delay_seconds = 0.5
        too_much = (count - 1) * 20 * delay_seconds
        assert counts[0] <= 20 + 21 + too_much, (count, counts)
        assert sum(counts[:2]) <= 40 + 21 + too_much, (count, counts)
        assert 20 * (attended_seconds - 2) * 0.85 <= sum(counts[2:]) <= 20 * 8 * 1.15, (count, counts)


async def passed(tmp_path: Path, count: int) -> tuple[list[int], float]:
    """What so many replicas let pass in each of ten seconds, and for how long nobody waited for a processor."""
    ports, place = free_ports(count), tmp_path / str(count)
    place.mkdir()
    limits = {
        "nginx.ingress.kubernetes.io/limit-rps": "20",
        "nginx.ingress.kubernetes.io/limit-burst-multiplier": "1",
        "zonal-ingress.io/limit-scope": "fleet",
    }
    zones = ("zone-a", "zone-b", "zone-c")[:count]
    async with shop(place, dict.fromkeys(zones, 1)) as opened:
        opened.folder.write("web.yaml", ingress("web", rule(HOST, path("/", "cart")), annotations=limits))
        async with replicas(opened, place, zones, ports) as everybody:
            for zonal in everybody:
                await comes(zonal, count - 1.0, "zonal_fleet_peers", state="up")
            counts = [0] * 10
            began, watch = time.monotonic(), Stopwatch()
            await asyncio.gather(*(passing(zonal, began, counts) for zonal in everybody))
            attended_seconds = watch.seconds
    return counts, attended_seconds
