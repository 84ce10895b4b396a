"""The source after an outage: all watches resume within 5 s of the API server's return, and nothing is listed anew."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from ingress.findings import Severity
from ingress.sources.contract import Wanted
from ingress.sources.kubernetes.reflecting import ReflectorTimes
from tests.fakes.apiserver import ApiServer
from tests.fakes.apiserver.requests import Call
from tests.fakes.sockets import until
from tests.fakes.stopwatch import Stopwatch
from tests.integration.manifests import service
from tests.integration.sourcing import OPTIONS, Following, fill, following

RETURN_LIMIT_SECONDS = 5.0
NAMESPACES = ("shop", *(f"team-{number}" for number in range(10)))
MANY = msgspec.structs.replace(OPTIONS, namespaces=NAMESPACES)
FOLLOWED = 3 * len(NAMESPACES) + 3
"""Ingresses, Services and slices of each namespace; the IngressClasses, the ConfigMap and the own Node."""


def is_list(call: Call) -> bool:
    return call.verb == "list" or "sendInitialEvents" in call.query


def refusals(server: ApiServer) -> int:
    return sum(call.status == 403 for call in server.calls)


async def synced(server: ApiServer, cluster: Following) -> None:
    await until(lambda: cluster.inventory.complete and cluster.source.want(Wanted()))
    await until(lambda: server.open_watches == FOLLOWED)
    assert cluster.inventory.findings == ()


async def resumed(server: ApiServer, cluster: Following) -> float:
    """Wait until all is watched again and nothing is wrong; the seconds it took."""
    watch = Stopwatch()
    await until(lambda: server.open_watches == FOLLOWED)
    await until(lambda: cluster.inventory.findings == ())
    await until(lambda: cluster.inventory.service("shop", "late") is not None)
    return watch.seconds


async def is_away_and_warms_up(
    server: ApiServer,
    place: Path,
    *,
    times: ReflectorTimes,
    away_seconds: float = 0.0,
    refusing_seconds: float = 0.0,
    forgets: bool = False,
) -> None:
    """What an API server does that is killed and started: no answer, then 403 for everything, then all is well.

    `forgets`: it does not know the versions from before, so that everything has to be listed.
    """
    async with following(server, place, MANY, times=times) as cluster:
        await synced(server, cluster)
        await server.stop()
        await until(lambda: cluster.source.failing == FOLLOWED)
        await until(lambda: cluster.reasons() == {("ApiServer", "ApiUnreachable")})
        (finding,) = cluster.inventory.findings
        assert finding.severity is Severity.DEGRADED, "all that was read is in use"
        await asyncio.sleep(away_seconds)
        server.calls.clear()
        server.rules = []
        server.put(service("late"))
        if forgets:
            server.compact()
        await server.start()
        await asyncio.sleep(refusing_seconds)
        await until(lambda: refusals(server) >= 2)
        server.rules = None
        assert await resumed(server, cluster) <= RETURN_LIMIT_SECONDS
        lists = Counter((call.resource, call.namespace) for call in server.calls if is_list(call))
        assert set(lists.values()) == ({1} if forgets else set())
        assert refusals(server) <= FOLLOWED, "one scope asks on behalf of all"


@pytest.mark.parametrize("forgets", [False, True])
async def test_watches_resume_soon_after_an_outage_and_403s(tmp_path: Path, forgets: bool) -> None:
    async with ApiServer() as server:
        fill(server)
        await is_away_and_warms_up(server, tmp_path, times=ReflectorTimes().scaled(0.2), forgets=forgets)


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.alone
@pytest.mark.parametrize(("away_seconds", "forgets"), [(5.0, False), (30.0, True), (60.0, False)])
async def test_watches_resume_within_5_s_of_the_return_at_real_times(
    tmp_path: Path, away_seconds: float, forgets: bool
) -> None:
    async with ApiServer() as server:
        fill(server)
        await is_away_and_warms_up(
            server,
            tmp_path,
            times=ReflectorTimes(),
            away_seconds=away_seconds,
            refusing_seconds=2.0,
            forgets=forgets,
        )
