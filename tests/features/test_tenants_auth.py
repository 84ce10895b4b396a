"""A tenant whose auth services or mirrors never answer leaves those of another tenant their places."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint, Visit, answering
from tests.features.faults.load import HOST, Ledger, Load, honest
from tests.features.faults.stage import Addressed
from tests.features.tenants.neighbours import Tenant, assert_unharmed, in_one_of_three, neighbours
from tests.integration.manifests import Document, ingress, path, rule
from tests.integration.running import until

pytestmark = pytest.mark.faults

_SERVICES = 8
_REQUESTS = 270  # for each service, which together are more than a worker has places for
_HALF = 1024  # of the places
_WITH_SERVICES = 256 * (_HALF // _REQUESTS) + _HALF % _REQUESTS  # some more wait: a service gets 256 at once
_AT_ONCE = ("--shutdown-grace-period=0",)
_WELCOME = answering(b"HTTP/1.1 204 No Content\r\n\r\n")


async def _silent(visit: Visit) -> None:
    await visit.head()
    await visit.rest()


@asynccontextmanager
async def _silent_services() -> AsyncIterator[list[ScriptedEndpoint]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(ScriptedEndpoint(_silent)) for _ in range(_SERVICES)]


def _url(service: ScriptedEndpoint) -> str:
    return f"http://{service.address}:{service.port}/"


def _greedy(option: str, endpoints: Sequence[Addressed], services: Sequence[ScriptedEndpoint]) -> Tenant:
    """A tenant with a path for each of the services."""
    return Tenant("greedy", endpoints, objects=[_path_to(option, number, each) for number, each in enumerate(services)])


def _path_to(option: str, number: int, service: ScriptedEndpoint) -> Document:
    annotations = {f"nginx.ingress.kubernetes.io/{option}": _url(service)}
    rules = rule(HOST, path(f"/greedy-{number}", "app"))
    return ingress(f"web-{number}", rules, namespace="greedy", annotations=annotations)


async def _flood(port: int, *, requests: int) -> list[asyncio.StreamWriter]:
    """Requests for each of the greedy paths, on a connection each. Nobody waits for the answers."""
    writers: list[asyncio.StreamWriter] = []
    for number in range(requests * _SERVICES):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET /greedy-{number // requests} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        writers.append(writer)
    return writers


@pytest.mark.slow
@in_one_of_three
async def test_auth_services_that_are_silent_take_no_place_of_another_tenant(tmp_path: Path, judge_times: bool) -> None:
    ledger = Ledger()
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        ScriptedEndpoint(_WELCOME) as welcome,
        _silent_services() as silent,
    ):
        modest = Tenant("modest", [endpoint], annotations={"auth-url": _url(welcome)})
        async with neighbours(tmp_path, _greedy("auth-url", [endpoint], silent), modest, options=_AT_ONCE) as zonal:
            alone, settling, beside = (Load(zonal.http_port, prefix="/modest") for _ in range(3))
            await alone.steady(rate=100, seconds=2.0)
            writers = await _flood(zonal.http_port, requests=_REQUESTS)
            await until(lambda: sum(each.requests for each in silent) >= _WITH_SERVICES, seconds=5.0)
            await settling.steady(rate=50, seconds=1.0)  # while clients of the flood are refused
            await beside.steady(rate=100, seconds=2.0)
            for writer in writers:
                writer.close()
    assert settling.failures == []
    assert_unharmed(beside, alone, judge_times)


async def test_mirrors_that_are_silent_take_no_place_of_another_tenant(tmp_path: Path) -> None:
    ledger = Ledger()
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        ScriptedEndpoint(_WELCOME) as shadow,
        _silent_services() as silent,
    ):
        modest = Tenant("modest", [endpoint], annotations={"mirror-target": _url(shadow), "mirror-request-body": "off"})
        async with neighbours(tmp_path, _greedy("mirror-target", [endpoint], silent), modest) as zonal:
            async with RawClient(zonal.http_port) as client:
                for number in range(_SERVICES * 100):
                    head = f"GET /greedy-{number // 100}/1/{number} HTTP/1.1\r\nHost: {HOST}\r\n\r\n"
                    assert (await client.ask(head.encode())).status == 200
            load = Load(zonal.http_port, prefix="/modest")
            await load.steady(rate=50, seconds=1.0)
            await until(lambda: shadow.requests == len(load.answers), seconds=5.0)
    assert load.failures == []
    assert len(load.answers) == 50
