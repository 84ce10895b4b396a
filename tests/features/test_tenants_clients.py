"""A client that takes all connections of a worker leaves another client its own, on every port and in every state."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.endpoints import ScriptedEndpoint
from tests.features.faults.load import HOST, Ledger, Load, honest
from tests.features.tenants.crowding import crowding
from tests.features.tenants.neighbours import Tenant, assert_unharmed, in_one_of_three, neighbours
from tests.integration.running import until

pytestmark = pytest.mark.faults

_PLACES = 600
_POST = f"POST /modest/1/a HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 9\r\n\r\n"

_CROWDS = {
    "idle": ("http", ""),
    "amid a head": ("http", "GET / HTTP/1.1\r\nHost: "),
    "amid a body": ("http", _POST),
    "before a ClientHello": ("https", ""),
}


@pytest.mark.parametrize("crowd", _CROWDS)
@in_one_of_three
async def test_a_client_with_all_places_of_a_worker_gives_some_to_another(
    tmp_path: Path, crowd: str, judge_times: bool
) -> None:
    scheme, says = _CROWDS[crowd]
    async with ScriptedEndpoint(honest(Ledger())) as endpoint:
        modest = Tenant("modest", [endpoint])
        async with neighbours(tmp_path, modest, max_worker_connections=str(_PLACES)) as zonal:
            port = zonal.http_port if scheme == "http" else zonal.https_port
            alone, beside = (Load(zonal.http_port, prefix="/modest", keeps=False) for _ in range(2))
            await alone.steady(rate=40, seconds=2.0)
            async with crowding(port, _PLACES + 20, says=says.encode()) as greedy:
                await until(lambda: greedy.lost > 20, seconds=10.0)
                await beside.steady(rate=40, seconds=2.0)
    assert_unharmed(beside, alone, judge_times)


async def test_connections_that_a_modest_client_keeps_stay(tmp_path: Path) -> None:
    async with (
        ScriptedEndpoint(honest(Ledger())) as endpoint,
        neighbours(tmp_path, Tenant("modest", [endpoint]), max_worker_connections=str(_PLACES)) as zonal,
    ):
        kept = Load(zonal.http_port, prefix="/modest")
        await kept.wave(20, posts=False)
        async with crowding(zonal.http_port, _PLACES) as greedy:
            await until(lambda: greedy.lost > 100, seconds=10.0)
            await kept.wave(20, posts=True)
        kept.close()
    assert kept.failures == []
