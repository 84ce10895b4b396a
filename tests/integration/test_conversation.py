"""Replicas on one machine tell each other: traffic by zone, and what noise, a cut and a liar change."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from ingress.replicas.messages import Message, encode
from ingress.replicas.trust import PEER_NAME, credentials_of
from tests.fakes.sockets import free_ports
from tests.fakes.stopwatch import Stopwatch
from tests.integration.manifests import ingress, path, rule
from tests.integration.running import Zonal, running, until
from tests.integration.shop import HOST, Shop, shop
from tests.integration.wire import Connection, request_bytes

SECRET = b"a secret of replicas that nobody can guess"
SETTINGS = {"zone_aware_routing": "true", "zone_policy": "proportional"}
PATIENCE_SECONDS = 60.0
SAMPLE = 200
LARGE_SAMPLE = 800
"""By chance alone a share of so many requests is off by 0.05 once in three hundred times."""


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
        """The share of the next requests to a replica that goes to zone-a."""
        zones = self._zones[zonal]
        zones.clear()
        await until(lambda: len(zones) >= sample, seconds=PATIENCE_SECONDS)
        return zones.count("zone-a") / len(zones)

    async def _run(self) -> None:
        connections = {zonal: await Connection.open(zonal.http_port) for zonal in self._counts}
        try:
            while True:
                for zonal, count in self._counts.items():
                    for _ in range(count):
                        answer = await connections[zonal].send(request_bytes("GET", "/", f"Host: {HOST}"))
                        assert answer.status == 200
                        self._zones[zonal].append(answer.json()["zone"])
                        if answer.ends_connection:
                            connections[zonal].close()
                            connections[zonal] = await Connection.open(zonal.http_port)
                await asyncio.sleep(0.05)
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
            assert await load.share(busy, LARGE_SAMPLE) == pytest.approx(5 / 9 / 0.9, abs=0.06)
            assert await load.share(quiet) == 0.0, "what comes in at zone-b finds room there"


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
            async with Load({busy: 9, quiet: 1, cut_off: 1}) as load:
                await knows_traffic(busy, 0.9)
                assert await load.share(busy, LARGE_SAMPLE) == pytest.approx(5 / 9 / 0.9, abs=0.06)
                assert await load.share(cut_off) == pytest.approx(5 / 9, abs=0.1)
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


async def tell(port: int, secret: bytes, data: bytes, *, address: str = "127.0.0.1") -> int:
    credentials = credentials_of(secret)
    async with aiohttp.ClientSession() as session:
        url = f"https://{address}:{port}/tell"
        async with session.post(url, data=data, ssl=credentials.client, server_hostname=PEER_NAME) as answer:
            return answer.status


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


@pytest.mark.parametrize("count", [2, 3])
async def test_a_limit_of_twenty_a_second_is_one_for_all_replicas(tmp_path: Path, count: int) -> None:
    """Each of them is asked more often than that. What is too much at first is bounded by the delay between them."""
    ports = free_ports(count)
    limits = {
        "nginx.ingress.kubernetes.io/limit-rps": "20",
        "nginx.ingress.kubernetes.io/limit-burst-multiplier": "1",
        "zonal-ingress.io/limit-scope": "fleet",
    }
    zones = ("zone-a", "zone-b", "zone-c")[:count]
    async with shop(tmp_path, dict.fromkeys(zones, 1)) as opened:
        opened.folder.write("web.yaml", ingress("web", rule(HOST, path("/", "cart")), annotations=limits))
        async with replicas(opened, tmp_path, zones, ports) as everybody:
            for zonal in everybody:
                await comes(zonal, count - 1.0, "zonal_fleet_peers", state="up")
            counts = [0] * 10
            began = time.monotonic()
            await asyncio.gather(*(passing(zonal, began, counts) for zonal in everybody))
    delay_seconds = 0.5
    too_much = (count - 1) * 20 * delay_seconds
    assert counts[0] <= 20 + 21 + too_much, counts
    assert sum(counts[:2]) <= 40 + 21 + too_much, counts
    assert sum(counts[2:]) == pytest.approx(20 * 8, rel=0.15), counts


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


async def asks(zonal: Zonal) -> None:
    """A request on a connection of its own, so that every worker gets some."""
    connection = await Connection.open(zonal.http_port)
    answer = await connection.send(request_bytes("GET", "/", f"Host: {HOST}"))
    assert answer.status == 200
    connection.close()
