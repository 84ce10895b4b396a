"""A limit of the fleet is one for all replicas that tell each other."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from tests.fakes.sockets import free_ports
from tests.fakes.stopwatch import Stopwatch
from tests.integration.conversing import (
    SECRET,
    comes,
    passing,
    replicas,
)
from tests.integration.manifests import ingress, path, rule
from tests.integration.running import Zonal, started
from tests.integration.shop import HOST, shop
from tests.integration.wire import Connection, request_bytes

RATE = 20
LIMITS = {
    "nginx.ingress.kubernetes.io/limit-rps": str(RATE),
    "nginx.ingress.kubernetes.io/limit-burst-multiplier": "1",
    "zonal-ingress.io/limit-scope": "fleet",
}


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
    zones = ("zone-a", "zone-b", "zone-c")[:count]
    async with shop(place, dict.fromkeys(zones, 1)) as opened:
        opened.folder.write("web.yaml", ingress("web", rule(HOST, path("/", "cart")), annotations=LIMITS))
        async with replicas(opened, place, zones, ports) as everybody:
            for zonal in everybody:
                await comes(zonal, count - 1.0, "zonal_fleet_peers", state="up")
            counts = [0] * 10
            began, watch = time.monotonic(), Stopwatch()
            await asyncio.gather(*(passing(zonal, began, counts) for zonal in everybody))
            attended_seconds = watch.seconds
    return counts, attended_seconds


@pytest.mark.slow
async def test_the_limit_holds_while_requests_move_and_a_replica_dies_and_another_one_starts(tmp_path: Path) -> None:
    """Beyond the rate pass: a burst once, what comes before replicas hear of it, and the burst of one who is new."""
    ports = free_ports(2)
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET)
    options = [f"--peer-secret={secret}", "--shutdown-grace-period=0", *(f"--peer=127.0.0.1:{port}" for port in ports)]
    async with shop(tmp_path, {"zone-a": 1, "zone-b": 1}) as opened:
        opened.folder.write("web.yaml", ingress("web", rule(HOST, path("/", "cart")), annotations=LIMITS))
        for name in ("one", "other"):
            (tmp_path / name).symlink_to(opened.place)
        one_options, other_options = (
            [f"--zone={zone}", f"--peer-port={port}", *options]
            for zone, port in zip(("zone-a", "zone-b"), ports, strict=True)
        )
        async with started(tmp_path / "one", *one_options) as one:
            await ready(one)
            async with started(tmp_path / "other", *other_options) as other:
                await ready(other)
                for zonal in (one, other):
                    await comes(zonal, 1.0, "zonal_fleet_peers", state="up")
                await holds({one: 40, other: 40}, beyond=RATE + RATE / 2)
                await holds({one: 54, other: 6}, beyond=RATE / 2)
                await holds({one: 6, other: 54}, beyond=RATE / 2)
                other.kill()
                await holds({one: 60}, beyond=RATE / 2)
            async with started(tmp_path / "other", *other_options) as other:
                await ready(other)
                await holds({one: 30, other: 30}, beyond=RATE + RATE / 2)


async def ready(zonal: Zonal) -> None:
    await zonal.is_serving()
    await zonal.is_ready()


async def holds(asked: dict[Zonal, int], *, beyond: float, seconds: float = 5.0) -> None:
    """While so many requests a second come in at each replica, one rate passes in all, and so many requests `beyond`.

    Less passes at first: a replica expects for a second that requests still come in elsewhere.
    """
    watch, began = Stopwatch(), time.monotonic()
    counts = await asyncio.gather(*(passed_at(zonal, a_second, seconds) for zonal, a_second in asked.items()))
    passed, elapsed = sum(counts), time.monotonic() - began
    assert passed <= RATE * elapsed * 1.1 + beyond, (asked.values(), counts, elapsed)
    assert passed >= RATE * (watch.seconds - 1.0) * 0.8, (asked.values(), counts, elapsed)


async def passed_at(zonal: Zonal, a_second: int, seconds: float) -> int:
    """How many requests pass at a replica that is asked so often."""
    connection, until, count = await Connection.open(zonal.http_port), time.monotonic() + seconds, 0
    while time.monotonic() < until:
        answer = await connection.send(request_bytes("GET", "/", f"Host: {HOST}"))
        count += answer.status == 200
        if answer.ends_connection:
            connection.close()
            connection = await Connection.open(zonal.http_port)
        await asyncio.sleep(1.0 / a_second)
    connection.close()
    return count
