"""A worker that stands still for a while blames nobody: what arrived meanwhile is read before anybody is judged."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint, Visit
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
from tests.integration.processes import state, workers
from tests.integration.running import Zonal, running, until

CLIENTS, ROUNDS = 120, 3
STALL_SECONDS = 2.0  # longer than a request waits for a connection, and than the limits below
REQUEST = b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
LIMITS = {
    "proxy_connect_timeout": "1",
    "proxy_read_timeout": "1",
    "health_check_path": "tcp",
    "health_check_interval": "1s",
    "health_check_timeout": "1s",
    "health_check_threshold": "1",
}
ZONES = {"zone_aware_routing": "true", "zone_policy": "prefer-zone"}


class Cart(NamedTuple):
    """An endpoint as its slice names it."""

    zone: str
    port: int
    service: str = "cart"


async def counted(zonal: Zonal, name: str) -> dict[str, int]:
    """What a counter has counted, by the last of its labels; `name` without `_total`."""
    counts: dict[str, int] = {}
    for sample in (await zonal.metrics())[name].samples:
        if sample.name.endswith("_total"):
            label = next(reversed(sample.labels.values()), "")
            counts[label] = counts.get(label, 0) + int(sample.value)
    return counts


@pytest.mark.parametrize("loop", ["asyncio", "auto"])
async def test_no_endpoint_is_left_or_tried_again_because_a_worker_stood_still(tmp_path: Path, loop: str) -> None:
    asked = 0

    async def once(visit: Visit) -> None:
        nonlocal asked
        await visit.head()
        asked += 1
        await visit.send(ANSWER)

    async with AsyncExitStack() as stack:
        carts = []
        for zone in ("zone-a", "zone-a", "zone-b"):
            endpoint = await stack.enter_async_context(ScriptedEndpoint(once))
            carts.append(Cart(zone, endpoint.port))
        folder = ManifestFolder(tmp_path / "manifests")
        folder.write(
            "shop.yaml",
            ingress_class(),
            service("cart"),
            ingress("web", rule("shop.test", path("/", "cart"))),
            config_map(ssl_redirect="false", **ZONES, **LIMITS),
            *(endpoint_slice(cart) for cart in carts),
        )
        options = ("--workers=1", "--zone=zone-a", f"--event-loop={loop}")
        zonal = await stack.enter_async_context(running(folder.place, *options))
        (worker,) = workers(zonal.pid)
        clients = [await stack.enter_async_context(RawClient(zonal.http_port)) for _ in range(CLIENTS)]
        for client in clients:
            assert (await client.ask(REQUEST)).status == 200
        for number in range(ROUNDS):
            stop(worker)
            for client in clients:
                client.send(REQUEST)
            os.kill(worker, signal.SIGCONT)
            begun = CLIENTS * (number + 1)
            await until(lambda begun=begun: asked > begun, seconds=30.0)  # type: ignore[misc]
            stop(worker)  # in the middle of many requests, of which some wait for connections
            await asyncio.sleep(STALL_SECONDS)
            os.kill(worker, signal.SIGCONT)
            statuses = {(await client.response()).status for client in clients}
            assert statuses == {200}, zonal.stderr
        requests = CLIENTS * (ROUNDS + 1)
        assert asked == requests
        assert await counted(zonal, "zonal_zone_decisions") == {"zone_local": requests}
        assert await counted(zonal, "zonal_retries") == {}
        assert await counted(zonal, "zonal_ejections") == {}
        assert "checks" not in zonal.stderr
        assert workers(zonal.pid) == [worker], "it is not taken for hung"


def stop(process: int) -> None:
    """SIGSTOP, and wait until it stands still."""
    os.kill(process, signal.SIGSTOP)
    while state(process) != "T":
        pass
