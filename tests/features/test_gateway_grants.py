"""A grant that goes closes what it carried, at once and for requests that come after it alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from balancer.connections.listeners import listen, port_of
from ingress.settings.context import TranslationContext
from tests.fakes.backends import echoing
from tests.features.test_tenants_conditions import cluster, thing
from tests.integration.in_process import data_plane
from tests.integration.manifests import Document
from tests.integration.running import until
from tests.integration.wire import get

pytestmark = pytest.mark.faults

_GATEWAY = "gateway.networking.k8s.io"
_CONTEXT = TranslationContext(allow_local_endpoints=True, gateway_ports=((80, "gateway-80"),))
_CLIENTS = 8


def _route(namespace: str, hostname: str, *, to: str) -> Document:
    rules = [{"backendRefs": [{"name": "app", "namespace": to, "port": 80}]}]
    parents = [{"name": "shared", "namespace": "infra"}]
    return thing("HTTPRoute", "route", namespace, parentRefs=parents, hostnames=[hostname], rules=rules)


def _grant(name: str = "app") -> Document:
    source = {"group": _GATEWAY, "kind": "HTTPRoute", "namespace": "greedy"}
    to = [{"group": "", "kind": "Service", "name": name}]
    spec: dict[str, Any] = {"from": [source], "to": to}
    return thing("ReferenceGrant", "grant", "modest", **spec)


async def test_under_load_a_grant_that_goes_and_comes_closes_and_opens_its_route_alone() -> None:
    routes = _route("greedy", "crossing.test", to="modest"), _route("modest", "own.test", to="modest")
    async with data_plane() as plane, echoing("app", {"zone-a": 1}) as (endpoint,):
        listener = listen("127.0.0.1", 0)
        await plane.worker.listen({"gateway-80": listener})
        port, ended = port_of(listener), False
        epoch, crossing, own = 0, set[tuple[int, int, int]](), set[int]()

        async def asking() -> None:
            while not ended:
                begun = epoch
                status = (await get(port, "crossing.test", "/")).status
                crossing.add((begun, epoch, status))
                own.add((await get(port, "own.test", "/")).status)

        def known() -> bool:
            """Whether a request has begun and ended in this epoch."""
            return any(each[:2] == (epoch, epoch) for each in crossing)

        plane.serve(cluster(endpoint, *routes, _grant()), _CONTEXT)
        async with asyncio.TaskGroup() as group:
            for _ in range(_CLIENTS):
                group.create_task(asking())
            for grants in ((), (_grant(),), (_grant("other"),), (_grant(),)):
                await until(known, seconds=60.0)
                plane.serve(cluster(endpoint, *routes, *grants), _CONTEXT)
                epoch += 1
            await until(known, seconds=60.0)
            ended = True
    assert {(begun, status) for begun, end, status in crossing if begun == end} == {
        (0, 200), (1, 500), (2, 200), (3, 500), (4, 200)
    }  # fmt: skip
    assert own == {200}
