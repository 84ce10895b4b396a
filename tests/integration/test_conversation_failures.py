"""Replicas that tell each other leave a dead endpoint after a few attempts in all."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.fakes.sockets import free_ports
from tests.fakes.stopwatch import Stopwatch
from tests.integration.conversing import (
    PATIENCE_SECONDS,
    asks,
    comes,
    everybody_has_told,
    leaving,
    replicas,
    value,
)
from tests.integration.shop import shop


@pytest.mark.parametrize("fleet_failures", ["on", "dry-run"])
async def test_a_dead_endpoint_is_left_by_all_after_a_few_attempts(tmp_path: Path, fleet_failures: str) -> None:
    """Alone, each of three replicas meets five failures before one of its workers leaves the endpoint for both."""
    ports = free_ports(3)
    zones = ("zone-a", "zone-b", "zone-c")
    settings = {"zone_aware_routing": "false", "fleet_failures": fleet_failures, "ejection_time": "300s"}
    async with (
        shop(tmp_path, {"zone-a": 1, "zone-b": 1}, **settings) as opened,
        replicas(opened, tmp_path, zones, ports, "--workers=2") as everybody,
    ):
        for zonal in everybody:
            await comes(zonal, 2.0, "zonal_fleet_peers", state="up")
        await opened.endpoints[0].stop()
        watch = Stopwatch()
        while sum([await leaving(zonal) for zonal in everybody]) < 6:
            assert watch.within(PATIENCE_SECONDS)
            for _ in range(2):
                await asyncio.gather(*(asks(zonal) for zonal in everybody))
            if fleet_failures == "on":
                await everybody_has_told(everybody)
        failures = [await value(zonal, "zonal_retries") for zonal in everybody]
    if fleet_failures == "on":
        assert sum(failures) <= 12, failures
    else:
        assert sum(failures) >= 15, failures
