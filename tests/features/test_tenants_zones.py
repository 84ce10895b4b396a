"""A tenant with more failing zones than tables and reports have room for harms no request of another tenant."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
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

_RATE, _SECONDS, _CLIENTS = 50, 0.5, 8


def _failing(namespace: str, port: int) -> list[Document]:
    """Services with an endpoint in each zone, all of which refuse connections."""
    documents: list[Document] = []
    paths = []
    for number in range(_FAILING[namespace]):
        name = f"app-{number}"
        endpoints = [
            {"addresses": [f"127.{len(namespace)}.{number}.{place + 1}"], "conditions": {"ready": True}, "zone": zone}
            for place, zone in enumerate(_ZONES)
        ]
        slices = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": name, "namespace": namespace, "labels": {"kubernetes.io/service-name": name}},
            "addressType": "IPv4",
            "ports": [{"name": "http", "port": port}],
            "endpoints": endpoints,
        }
        documents += [service(name, namespace=namespace), slices]
        paths.append(path(f"/{namespace}/failing/{number}", name))
    return [*documents, ingress("failing", rule(HOST, *paths), namespace=namespace)]


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
