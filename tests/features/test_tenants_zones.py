"""A tenant with more failing zones than reports have room for, or than any cloud has, harms no other tenant."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from balancer.workers import judging
from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint
from tests.features.faults.load import HOST, Ledger, Load, honest
from tests.features.tenants.neighbours import Tenant, assert_unharmed, in_one_of_three, neighbours
from tests.integration.manifests import Document, ingress, path, rule, service
from tests.integration.running import Zonal

pytestmark = [pytest.mark.faults, pytest.mark.slow]

_ZONES = ("zone-a", "zone-b", "zone-c", "zone-d", "zone-e")
_FAILING = {"greedy": judging._ZONES_MOST // 4, "modest": 1}
"""How many Services of each tenant fail in all zones."""

_MANY_ZONES = 6000
_RATE, _SECONDS, _CLIENTS = 50, 0.5, 8


def _failing(namespace: str, port: int) -> list[Document]:
    """Services with an endpoint in each zone, all of which refuse connections."""
    documents: list[Document] = []
    paths = []
    for number in range(_FAILING[namespace]):
        name = f"app-{number}"
        zones = {zone: f"127.{len(namespace)}.{number}.{place + 1}" for place, zone in enumerate(_ZONES)}
        documents += [service(name, namespace=namespace), _slice(name, namespace, port, zones)]
        paths.append(path(f"/{namespace}/failing/{number}", name))
    return [*documents, ingress("failing", rule(HOST, *paths), namespace=namespace)]


def _slice(name: str, namespace: str, port: int, zones: Mapping[str, str]) -> Document:
    """A slice of the Service `name` with an address in each of the zones."""
    ready = {"conditions": {"ready": True}}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "namespace": namespace, "labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": port}],
        "endpoints": [{"addresses": [address], "zone": zone, **ready} for zone, address in zones.items()],
    }


class _Flood:
    """Clients who ask each of the failing Services in turn. `rounds` counts how often all were asked."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.rounds = 0

    async def ask(self) -> None:
        """Asks for ever."""
        while True:
            async with RawClient(self._port) as client:
                for namespace, count in _FAILING.items():
                    for number in range(count):
                        await client.ask(f"GET /{namespace}/failing/{number} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
            self.rounds += 1


async def _told(zonal: Zonal, name: str) -> Counter[str]:
    """How many series of this metric each tenant has."""
    family = (await zonal.metrics()).get(name)
    return Counter(each.labels["namespace"] for each in family.samples) if family else Counter()


@in_one_of_three
async def test_failing_zones_beside_a_modest_tenant(tmp_path: Path, judge_times: bool) -> None:
    ledger = Ledger()
    async with ScriptedEndpoint(honest(ledger)) as endpoint:
        with socket.socket() as refusing:
            refusing.bind(("", 0))  # nobody listens there
            port = refusing.getsockname()[1]
            greedy, modest = (Tenant(name, [endpoint], objects=_failing(name, port)) for name in _FAILING)
            options = ("--zone=zone-a", "--workers=2")
            async with neighbours(
                tmp_path, greedy, modest, options=options, zone_aware_routing="true", zone_policy="adaptive"
            ) as zonal:
                alone, beside = (Load(zonal.http_port, prefix="/modest") for _ in range(2))
                await alone.steady(rate=_RATE, seconds=_SECONDS)
                flood = _Flood(zonal.http_port)
                clients = [asyncio.create_task(flood.ask()) for _ in range(_CLIENTS)]
                while flood.rounds < 2 * _CLIENTS:
                    await beside.steady(rate=_RATE, seconds=_SECONDS)
                for each in clients:
                    each.cancel()
                await asyncio.gather(*clients, return_exceptions=True)
                shown = {"greedy": judging._ZONES_MOST // 2, "modest": len(_ZONES)}
                assert await _told(zonal, "zonal_zone_failure_ratio") == shown, "each tenant has room in reports"
                assert await _told(zonal, "zonal_ejections") == _FAILING
    assert_unharmed(beside, alone, judge_times)
    assert ledger.doubled_posts == ledger.wrong_bodies == []


@in_one_of_three
async def test_thousands_of_failing_zones_of_one_service(tmp_path: Path, judge_times: bool) -> None:
    async with ScriptedEndpoint(honest(Ledger())) as endpoint:
        with socket.socket() as refusing:
            refusing.bind(("", 0))  # nobody listens there
            zones = {f"zone-{number}": f"127.9.{number // 250}.{1 + number % 250}" for number in range(_MANY_ZONES)}
            many = [
                service("many", namespace="greedy"),
                _slice("many", "greedy", refusing.getsockname()[1], zones),
                ingress("many", rule(HOST, path("/greedy/many", "many")), namespace="greedy"),
            ]
            greedy, modest = Tenant("greedy", [endpoint], objects=many), Tenant("modest", [endpoint])
            async with neighbours(
                tmp_path, greedy, modest, options=("--zone=zone-0", "--workers=1"), zone_aware_routing="true"
            ) as zonal:
                alone, beside = (Load(zonal.http_port, prefix="/modest") for _ in range(2))
                await alone.steady(rate=_RATE, seconds=_SECONDS)
                async with RawClient(zonal.http_port) as client:
                    asking = asyncio.create_task(beside.steady(rate=_RATE, seconds=4 * _SECONDS))
                    while not asking.done():
                        await client.ask(f"GET /greedy/many HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
                        await asyncio.sleep(0.01)  # fewer requests than a connection may have
                    await asking
                assert "has ended" not in zonal.stderr, "no worker is lost"
    assert_unharmed(beside, alone, judge_times)
