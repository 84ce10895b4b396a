"""A tenant with more routes than there is room for leaves room for the series of another tenant."""

from __future__ import annotations

from collections import Counter

import pytest

from balancer.metrics.definitions import REQUESTS
from balancer.metrics.recorder import NUMBERS
from balancer.metrics.slots import OVERFLOW, read
from ingress.settings.context import TranslationContext
from tests.fakes.backends import EchoEndpoint, echoing
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import (
    Document,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
)
from tests.integration.wire import Connection

pytestmark = pytest.mark.faults

_ROUTES = {"greedy": 100, "modest": 3}  # the table of a test has room for about 25
_TIMES = 5
_HOST = "app.test"


def tenant(name: str, endpoint: EchoEndpoint) -> list[Document]:
    webs = [
        ingress(f"web-{number}", rule(_HOST, path(f"/{name}/{number}", "app")), namespace=name)
        for number in range(_ROUTES[name])
    ]
    return [service("app", namespace=name), endpoint_slice(endpoint, namespace=name), *webs]


async def asks(plane: DataPlane, name: str) -> None:
    async with await Connection.open(plane.http_port) as connection:
        for number in range(_ROUTES[name]):
            assert (await connection.get(_HOST, f"/{name}/{number}")).status == 200


async def test_routes_of_a_modest_tenant_are_counted_beside_those_of_a_greedy_one() -> None:
    async with data_plane() as plane, echoing("app", {"zone-a": 1}) as (endpoint,):
        documents = [each for name in _ROUTES for each in tenant(name, endpoint)]
        assert (
            plane.serve([ingress_class(), config_map(), *documents], TranslationContext(allow_local_endpoints=True))
            == ()
        )
        for _ in range(_TIMES):
            await asks(plane, "greedy")
            await asks(plane, "modest")
        counted = counts(plane)
        assert counted["modest"] == _ROUTES["modest"] * _TIMES
        assert 0 < counted["greedy"] < _ROUTES["greedy"] * _TIMES
        assert refusals(plane) > 0


def counts(plane: DataPlane) -> Counter[str]:
    """The requests in the series of each namespace."""
    found = Counter[str]()
    for entry in read(plane.counters):
        if entry.key.metric == NUMBERS[REQUESTS.name]:
            found[entry.key.labels[0]] += int(entry.values[0])
    return found


def refusals(plane: DataPlane) -> float:
    (found,) = [entry.values[0] for entry in read(plane.counters) if entry.key == OVERFLOW]
    return found
