"""What is sick is left by a process whose workers each see a part of the requests (slow)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fakes.clients import RawClient
from tests.features.sick.clients import CallingCrowd, SickCrowd
from tests.features.sick.endpoints import SickEndpoint, SickServer
from tests.features.sick.stage import RATE, Scene
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
from tests.integration.running import running

pytestmark = [pytest.mark.slow, pytest.mark.faults]

WARM_SECONDS, SETTLED_SECONDS, WATCHED_SECONDS = 4.0, 5.0, 8.0
ERRORS_MOST, HOME_LEAST, HOME_SECONDS, STAY_LEAST = 0.02, 0.95, 30.0, 0.9
CONNECTIONS, REQUESTS_EACH = 24, 200
GRPC = {"nginx.ingress.kubernetes.io/backend-protocol": "GRPC"}
POLICIES: Mapping[str, Mapping[str, str]] = {
    "no zones": {},
    "no zones, ewma": {"load_balance": "ewma"},
    "prefer-zone": {"zone_aware_routing": "true", "zone_policy": "prefer-zone"},
    "prefer-zone, ewma": {"zone_aware_routing": "true", "zone_policy": "prefer-zone", "load_balance": "ewma"},
    "adaptive": {"zone_aware_routing": "true", "zone_policy": "adaptive"},
}
ZONAL = ("prefer-zone", "adaptive")


class _Cart(NamedTuple):
    """An endpoint as its slice names it."""

    zone: str
    port: int
    service: str = "cart"


class _ManyClients(SickCrowd):
    """Clients who take turns with so many connections that each worker has some of them all the time."""

    def take(self) -> RawClient | None:
        return self.free.pop(0) if len(self.free) >= CONNECTIONS else None


class _MovingClients(SickCrowd):
    """Few busy connections. Another one follows each after `REQUESTS_EACH`, at whichever worker takes it."""

    def __init__(self, port: int, *, rate: float) -> None:
        super().__init__(port, rate=rate)
        self._asked: Counter[RawClient] = Counter()

    def take(self) -> RawClient | None:
        while self.free:
            client = self.free.pop()
            self._asked[client] += 1
            if self._asked[client] < REQUESTS_EACH:
                return client
        return None


class Clients(Enum):
    """Who asks: HTTP/1.1 over connections to all workers, or over a few that move, or calls of gRPC over one."""

    MANY = "many"
    MOVING = "moving"
    GRPC = "grpc"


by_clients = pytest.mark.parametrize("clients", Clients, ids=lambda clients: clients.value)
_CROWDS = {Clients.MANY: _ManyClients, Clients.MOVING: _MovingClients, Clients.GRPC: CallingCrowd}


@asynccontextmanager
async def two_workers(place: Path, policy: str, clients: Clients) -> AsyncIterator[Scene]:
    """A process of two workers in zone-a that has served three zones well for some seconds, without any tuning."""
    async with AsyncExitStack() as stack:
        grpc = clients is Clients.GRPC
        kind = SickServer if grpc else SickEndpoint
        endpoints = [kind(f"zone-{letter}", seconds=0.005) for letter in "aabbcc"]
        for each in endpoints:
            await each.start()
            stack.push_async_callback(each.stop)
        folder = ManifestFolder(place / "manifests")
        carts = (_Cart(each.zone, each.endpoint.port) for each in endpoints)
        folder.write(
            "shop.yaml",
            ingress_class(),
            service("cart"),
            ingress("web", rule("shop.test", path("/", "cart")), annotations=GRPC if grpc else {}),
            config_map(ssl_redirect="false", http2_cleartext="true", **POLICIES[policy]),
            *(endpoint_slice(cart) for cart in carts),
        )
        zonal = await stack.enter_async_context(running(folder.place, "--workers=2", "--zone=zone-a"))
        crowd = _CROWDS[clients](zonal.http_port, rate=RATE)
        await stack.enter_async_context(crowd.asking())
        scene = Scene(endpoints, crowd)
        calm = await scene.lasts(WARM_SECONDS)
        assert calm.errors == 0, scene.told()
        yield scene


@by_clients
@pytest.mark.parametrize("policy", POLICIES)
async def test_one_of_two_endpoints_that_answers_errors_at_once_is_left(
    tmp_path: Path, policy: str, clients: Clients
) -> None:
    async with two_workers(tmp_path, policy, clients) as scene:
        scene.home[0].failing = 1.0
        await scene.lasts(2.0)
        after = await scene.lasts(WATCHED_SECONDS)
        assert after.error_share <= ERRORS_MOST, scene.told()


@by_clients
@pytest.mark.parametrize("failing", [0.4, 1.0], ids=["40 %", "all"])
@pytest.mark.parametrize("policy", ZONAL)
async def test_a_sick_zone_is_left_and_has_its_requests_back(
    tmp_path: Path, policy: str, failing: float, clients: Clients
) -> None:
    async with two_workers(tmp_path, policy, clients) as scene:
        for each in scene.home:
            each.failing = failing
        await scene.lasts(SETTLED_SECONDS)
        sick = await scene.lasts(WATCHED_SECONDS)
        assert sick.error_share <= ERRORS_MOST, scene.told()
        for each in scene.home:
            each.failing = 0.0
        repaired = time.perf_counter()
        while (await scene.lasts(1.0)).at_home < HOME_LEAST:
            assert time.perf_counter() - repaired < HOME_SECONDS, scene.told()


@by_clients
@pytest.mark.parametrize(("failing", "everywhere"), [(0.4, True), (0.02, False)], ids=["all alike", "a few"])
@pytest.mark.parametrize("policy", ZONAL)
async def test_where_leaving_would_not_help_nearly_all_stay(
    tmp_path: Path, policy: str, failing: float, everywhere: bool, clients: Clients
) -> None:
    async with two_workers(tmp_path, policy, clients) as scene:
        for each in scene.endpoints if everywhere else scene.home:
            each.failing = failing
        assert (await scene.lasts(15.0)).at_home >= STAY_LEAST, scene.told()
