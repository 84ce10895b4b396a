"""What an operator sees of a modest tenant is not pushed out of the first so many rows by those of a greedy one."""

from __future__ import annotations

import socket
from collections import Counter
from pathlib import Path

import pytest

from balancer.workers import judging
from tests.fakes.endpoints import ScriptedEndpoint
from tests.features.cluster.stage import becomes
from tests.features.faults.load import HOST, Ledger, Load, honest
from tests.features.tenants.neighbours import Tenant, assert_unharmed, in_one_of_three, neighbours
from tests.integration.manifests import Document, ingress, path, rule, service
from tests.integration.running import Zonal

pytestmark = pytest.mark.faults

_DEAD = {"greedy": judging._UNWELL_MOST + 100, "modest": 3}
_CHECKED = {"zonal-ingress.io/health-check-path": "tcp", "zonal-ingress.io/health-check-interval": "1s"}
_RATE, _SECONDS = 50, 0.5


def dead(namespace: str, port: int) -> list[Document]:
    """A Service whose endpoints refuse connections, as checks find out."""
    addresses = [f"127.{2 + number // 250}.{len(namespace)}.{1 + number % 250}" for number in range(_DEAD[namespace])]
    endpoints = [{"addresses": [each], "conditions": {"ready": True}} for each in addresses]
    slices: Document = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "dead", "namespace": namespace, "labels": {"kubernetes.io/service-name": "dead"}},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": port}],
        "endpoints": endpoints,
    }
    rules = rule(HOST, path(f"/{namespace}/dead", "dead"))
    web = ingress("dead", rules, namespace=namespace, annotations=_CHECKED)
    return [service("dead", namespace=namespace), slices, web]


async def unwell(zonal: Zonal) -> Counter[str]:
    """How many endpoints the overview says not to be ready, by namespace."""
    rows = (await zonal.admin("/debug/overview?parts=endpoints")).json()["endpoints"]
    return Counter(each["namespace"] for each in rows if each.get("state", "ready") != "ready")


async def ejected(zonal: Zonal) -> Counter[str]:
    """How many endpoints are left out, by namespace."""
    found = Counter[str]()
    for each in (await zonal.metrics())["zonal_endpoints"].samples:
        if each.labels["state"] == "ejected":
            found[each.labels["namespace"]] += int(each.value)
    return +found


@in_one_of_three
async def test_unhealthy_endpoints(tmp_path: Path, judge_times: bool) -> None:
    async with ScriptedEndpoint(honest(Ledger())) as endpoint:
        with socket.socket() as refusing:
            refusing.bind(("", 0))  # nobody listens there
            greedy, modest = (Tenant(name, [endpoint], objects=dead(name, refusing.getsockname()[1])) for name in _DEAD)
            async with neighbours(tmp_path, greedy, modest) as zonal:
                half = judging._UNWELL_MOST // 2
                alone, beside = (Load(zonal.http_port, prefix="/modest") for _ in range(2))
                await alone.steady(rate=_RATE, seconds=_SECONDS)

                async def are_shown() -> bool:
                    return await unwell(zonal) == {"greedy": half, "modest": _DEAD["modest"]}

                await becomes(are_shown)
                await beside.steady(rate=_RATE, seconds=_SECONDS)
                assert await ejected(zonal) == _DEAD, "all are counted"
    assert_unharmed(beside, alone, judge_times)
