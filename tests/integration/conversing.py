"""Replicas on one machine that tell each other, and load on some of them."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp

from ingress.replicas.trust import PEER_NAME, credentials_of
from tests.fakes.stopwatch import Stopwatch
from tests.integration.running import Zonal, running, until
from tests.integration.shop import HOST, Shop
from tests.integration.wire import Connection, request_bytes

SECRET = b"a secret of replicas that nobody can guess"
SETTINGS = {"zone_aware_routing": "true", "zone_policy": "proportional"}
PATIENCE_SECONDS = 60.0
FEW, SAMPLE, LARGE_SAMPLE = 40, 200, 1600
"""Requests by which a share is judged. By chance alone a share of the most is off by 0.06 once in a million times; of
the fewest none goes to one of two zones that both get some once in a million times.
"""


@asynccontextmanager
async def replicas(
    opened: Shop, place: Path, zones: Sequence[str], ports: Sequence[int], *more: str
) -> AsyncIterator[list[Zonal]]:
    """A replica in each of `zones`, of which each knows all `ports`, its own among them."""
    secret = place / "secret"
    secret.write_bytes(SECRET)
    everybody = [f"--peer=127.0.0.1:{port}" for port in ports]
    async with AsyncExitStack() as stack:
        started = []
        for zone, port in zip(zones, ports, strict=False):
            folder = place / f"manifests-{port}"
            folder.symlink_to(opened.place)
            options = (f"--zone={zone}", f"--peer-port={port}", f"--peer-secret={secret}", *everybody, *more)
            started.append(await stack.enter_async_context(running(folder, *options)))
        yield started


async def value(zonal: Zonal, family: str, **labels: str) -> float:
    samples = (await zonal.metrics())[family].samples
    return sum(each.value for each in samples if labels.items() <= each.labels.items())


async def comes(zonal: Zonal, wanted: float, family: str, **labels: str) -> None:
    watch = Stopwatch()
    while await value(zonal, family, **labels) != wanted:
        assert watch.within(PATIENCE_SECONDS), (await zonal.admin("/metrics")).body.decode()
        await asyncio.sleep(0.05)


class Load:
    """Requests to replicas at fixed numbers a turn, until it is left."""

    def __init__(self, counts: dict[Zonal, int]) -> None:
        self._counts = counts
        self._zones = {zonal: deque[str](maxlen=LARGE_SAMPLE) for zonal in counts}
        self.endpoints: list[str] = []  # that answered, in the order of the requests of all replicas
        self._answered = dict.fromkeys(counts, 0)
        self._task: asyncio.Task[None]

    async def __aenter__(self) -> Load:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task.done():
            self._task.result()
        self._task.cancel()
        await asyncio.wait({self._task})

    async def share(self, zonal: Zonal, sample: int = SAMPLE) -> float:
        """The share of the next requests to a replica that goes to zone-a. They may take as long as they come."""
        zones = self._zones[zonal]
        zones.clear()
        while len(zones) < sample:
            await self._next_answer(zonal)
        return zones.count("zone-a") / len(zones)

    async def _next_answer(self, zonal: Zonal) -> None:
        answered = self._answered[zonal]
        await until(lambda: self._answered[zonal] > answered or self._task.done(), seconds=PATIENCE_SECONDS)
        if self._task.done():
            self._task.result()

    async def _run(self) -> None:
        connections = {zonal: await Connection.open(zonal.http_port) for zonal in self._counts}
        try:
            while True:
                for zonal, count in self._counts.items():
                    for _ in range(count):
                        answer = await connections[zonal].send(request_bytes("GET", "/", f"Host: {HOST}"))
                        assert answer.status == 200
                        self._zones[zonal].append(answer.json()["zone"])
                        self.endpoints.append(answer.json()["endpoint"])
                        self._answered[zonal] += 1
                        if answer.ends_connection:
                            connections[zonal].close()
                            connections[zonal] = await Connection.open(zonal.http_port)
                await asyncio.sleep(0.01)
        finally:
            for connection in connections.values():
                connection.close()


async def traffic(zonal: Zonal) -> dict[str, int]:
    model = (await zonal.model())["model"]
    return dict(model["zones"].get("traffic", [["", []]])[0][1]) if model["zones"].get("traffic") else {}


async def knows_traffic(zonal: Zonal, share: float) -> None:
    """Wait until a replica knows that about this share of the requests comes in at zone-a."""
    watch = Stopwatch()
    while not abs((await traffic(zonal)).get("zone-a", 0) / 10_000 - share) <= 0.04:
        assert watch.within(PATIENCE_SECONDS), (await traffic(zonal), zonal.stderr)
        await asyncio.sleep(0.1)


async def tell(port: int, secret: bytes, data: bytes, *, address: str = "127.0.0.1") -> int:
    credentials = credentials_of(secret)
    async with aiohttp.ClientSession() as session:
        url = f"https://{address}:{port}/tell"
        async with session.post(url, data=data, ssl=credentials.client, server_hostname=PEER_NAME) as answer:
            return answer.status


async def asks(zonal: Zonal) -> None:
    """A request on a connection of its own, so that every worker gets some."""
    connection = await Connection.open(zonal.http_port)
    answer = await connection.send(request_bytes("GET", "/", f"Host: {HOST}"))
    assert answer.status == 200
    connection.close()


async def leaving(zonal: Zonal) -> int:
    """How many workers have left an endpoint."""
    return sum(row["workers"] for row in (await zonal.model())["health"] if row["state"] == "ejected")


async def everybody_has_told(everybody: Sequence[Zonal]) -> None:
    """Until each replica has heard the others anew: how fast the machine is decides nothing then."""

    async def heard() -> list[float]:
        return [await value(zonal, "zonal_fleet_messages", result="heard") for zonal in everybody]

    wanted = [count + len(everybody) - 1 for count in await heard()]
    watch = Stopwatch()
    while any(now < then for now, then in zip(await heard(), wanted, strict=True)):
        assert watch.within(PATIENCE_SECONDS)
        await asyncio.sleep(0.05)


async def passing(zonal: Zonal, began: float, counts: list[int]) -> None:
    """Asks about 60 times a second, and counts what passes in each second."""
    connection = await Connection.open(zonal.http_port)
    while (second := int(time.monotonic() - began)) < len(counts):
        answer = await connection.send(request_bytes("GET", "/", f"Host: {HOST}"))
        counts[second] += answer.status == 200
        if answer.ends_connection:
            connection.close()
            connection = await Connection.open(zonal.http_port)
        await asyncio.sleep(1 / 60)
    connection.close()
