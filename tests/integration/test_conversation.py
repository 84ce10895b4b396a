"""Replicas on one machine tell each other, and noise and a liar among them change nothing."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import aiohttp
import pytest

from ingress.replicas.messages import Message, encode
from tests.fakes.sockets import free_ports
from tests.fakes.stopwatch import Stopwatch
from tests.integration.conversing import (
    PATIENCE_SECONDS,
    SECRET,
    SETTINGS,
    Load,
    asks,
    comes,
    knows_traffic,
    replicas,
    tell,
    value,
)
from tests.integration.running import Zonal
from tests.integration.shop import shop


async def test_each_replica_knows_the_traffic_of_all(tmp_path: Path) -> None:
    ports = free_ports(2)
    async with (
        shop(tmp_path, {"zone-a": 1, "zone-b": 1}, zone_aware_routing="true") as opened,
        replicas(opened, tmp_path, ("zone-a", "zone-b"), ports) as (one, other),
    ):
        await comes(one, 1.0, "zonal_fleet_peers", state="up")
        for _ in range(3):
            await asks(one)
        await asks(other)
        for zonal in (one, other):
            watch = Stopwatch()
            while await whole_traffic(zonal) != {("zone-a", "zone-a"): 3, ("zone-b", "zone-b"): 1}:
                assert watch.within(PATIENCE_SECONDS), await whole_traffic(zonal)
                await asyncio.sleep(0.1)


async def whole_traffic(zonal: Zonal) -> dict[tuple[str, str], int]:
    """The requests from zone to zone of all replicas, as one of them tells."""
    fleet = (await zonal.admin("/debug/overview?parts=fleet")).json()["fleet"]
    return {(flow["from_zone"], flow["to_zone"]): flow["requests"] for flow in fleet.get("flows", ())}


async def test_noise_and_strangers_change_nothing(tmp_path: Path) -> None:
    ports = free_ports(2)
    async with (
        shop(tmp_path, {"zone-a": 5, "zone-b": 4}, **SETTINGS) as opened,
        replicas(opened, tmp_path, ("zone-a", "zone-b"), ports) as (busy, quiet),
    ):
        await comes(busy, 1.0, "zonal_fleet_peers", state="up")
        for noise in (b"\x00" * 5000, b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff"):
            reader, writer = await asyncio.open_connection("127.0.0.1", ports[0])
            writer.write(noise)
            writer.write_eof()
            assert not (await reader.read()).startswith(b"HTTP/1.1 2")
            writer.close()
        with pytest.raises((aiohttp.ClientError, ssl.SSLError, OSError)):
            await tell(ports[0], b"another secret, which nobody has told us", encode(Message(number=1)))
        assert await value(busy, "zonal_fleet_refused", reason="malformed") == 0.0
        async with Load({busy: 9, quiet: 1}):
            await knows_traffic(busy, 0.9)


async def test_one_who_lies_is_not_believed(tmp_path: Path) -> None:
    ports = free_ports(2)
    async with (
        shop(tmp_path, {"zone-a": 5, "zone-b": 4}, **SETTINGS) as opened,
        replicas(opened, tmp_path, ("zone-a", "zone-b"), ports) as (busy, quiet),
    ):
        await comes(busy, 1.0, "zonal_fleet_peers", state="up")
        assert await tell(ports[0], SECRET, b"no message") == 400
        await comes(busy, 1.0, "zonal_fleet_peers", state="distrusted")
        assert await value(busy, "zonal_fleet_refused", reason="malformed") == 1.0
        assert await value(busy, "zonal_fleet_peers", state="up") == 1.0
        async with Load({busy: 9, quiet: 1}):
            await knows_traffic(busy, 0.9)
