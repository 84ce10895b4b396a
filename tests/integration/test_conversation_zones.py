"""Replicas that tell each other divide requests among zones by the traffic of all; without peers one acts as alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.fakes.sockets import free_ports
from tests.integration.conversing import (
    FEW,
    LARGE_SAMPLE,
    SETTINGS,
    Load,
    comes,
    knows_traffic,
    replicas,
    traffic,
)
from tests.integration.running import running
from tests.integration.shop import shop


@pytest.mark.parametrize("zones", [("zone-a", "zone-b"), ("zone-a", "zone-b", "zone-b")])
async def test_the_busy_zone_keeps_what_it_can_carry(tmp_path: Path, zones: tuple[str, ...]) -> None:
    """Nine of ten requests come in at zone-a, which has five of nine endpoints, so it keeps 62 % of its own.

    A third replica, which gets no requests, counts for nothing.
    """
    ports = free_ports(len(zones))
    async with (
        shop(tmp_path, {"zone-a": 5, "zone-b": 4}, **SETTINGS) as opened,
        replicas(opened, tmp_path, zones, ports) as (busy, quiet, *idle),
    ):
        for zonal in (busy, quiet, *idle):
            await comes(zonal, len(zones) - 1.0, "zonal_fleet_peers", state="up")
        async with Load({busy: 9, quiet: 1}) as load:
            await knows_traffic(busy, 0.9)
            await knows_traffic(quiet, 0.9)
            busy_share, quiet_share = await asyncio.gather(load.share(busy, LARGE_SAMPLE), load.share(quiet, FEW))
            assert busy_share == pytest.approx(5 / 9 / 0.9, abs=0.06)
            assert quiet_share == 0.0, "what comes in at zone-b finds room there"


async def test_one_that_is_cut_off_acts_as_alone_and_the_others_as_without_it(tmp_path: Path) -> None:
    """Three replicas, of which one has another secret. What the other two do is what they do without it."""
    ports = free_ports(3)
    async with (
        shop(tmp_path, {"zone-a": 5, "zone-b": 4}, **SETTINGS) as opened,
        replicas(opened, tmp_path, ("zone-a", "zone-b"), ports) as (busy, quiet),
    ):
        other = tmp_path / "other"
        other.mkdir()
        (other / "secret").write_bytes(b"a secret that the other two do not have")
        options = (
            f"--peer-port={ports[2]}",
            f"--peer-secret={other / 'secret'}",
            *(f"--peer=127.0.0.1:{p}" for p in ports),
        )
        (other / "manifests").symlink_to(opened.place)
        async with running(other / "manifests", "--zone=zone-b", *options) as cut_off:
            for zonal in (busy, quiet):
                await comes(zonal, 1.0, "zonal_fleet_peers", state="up")
                await comes(zonal, 1.0, "zonal_fleet_peers", state="silent")
            await comes(cut_off, 2.0, "zonal_fleet_peers", state="silent")
            async with Load({busy: 9, quiet: 1, cut_off: 2}) as load:
                await knows_traffic(busy, 0.9)
                share, share_alone = await asyncio.gather(load.share(busy, LARGE_SAMPLE), load.share(cut_off))
                assert share == pytest.approx(5 / 9 / 0.9, abs=0.06)
                assert share_alone == pytest.approx(5 / 9, abs=0.1)
                assert await traffic(cut_off) == {}


async def test_a_replica_whose_peers_are_gone_acts_as_alone(tmp_path: Path) -> None:
    ports = free_ports(2)
    async with (
        shop(tmp_path, {"zone-a": 5, "zone-b": 4}, **SETTINGS) as opened,
        replicas(opened, tmp_path, ("zone-a",), ports) as (alone,),
    ):
        await comes(alone, 1.0, "zonal_fleet_peers", state="silent")
        async with Load({alone: 9}) as load:
            assert await load.share(alone) == pytest.approx(5 / 9, abs=0.03)
        assert await traffic(alone) == {}
