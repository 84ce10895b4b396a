"""A tenant with many connections to its endpoints leaves another tenant those that it keeps."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.fakes.endpoints import ScriptedEndpoint
from tests.features.faults.load import Ledger, Load, honest
from tests.features.tenants.neighbours import Tenant, assert_unharmed, in_one_of_three, neighbours

pytestmark = pytest.mark.faults

_KEPT = 16


async def _waves(load: Load) -> None:
    while True:
        await load.wave(2 * _KEPT, posts=False)
        await asyncio.sleep(0.01)  # all of them are idle


@in_one_of_three
async def test_a_modest_tenant_keeps_its_connections_beside_one_that_fills_the_pools(
    tmp_path: Path, judge_times: bool
) -> None:
    async with AsyncExitStack() as stack:
        slow = honest(Ledger(), delay_seconds=0.05)  # so that waves come back while a modest request is under way
        endpoint, *others = [await stack.enter_async_context(ScriptedEndpoint(slow)) for _ in range(5)]
        tenants = Tenant("modest", [endpoint]), Tenant("greedy", others)
        settings = {"upstream_keepalive_connections": str(_KEPT)}
        zonal = await stack.enter_async_context(neighbours(tmp_path, *tenants, **settings))
        alone, beside, one_by_one = (Load(zonal.http_port, prefix="/modest") for _ in range(3))
        greedy = Load(zonal.http_port, prefix="/greedy")
        await alone.steady(rate=50, seconds=2.0)
        await greedy.wave(2 * _KEPT, posts=False)  # which leave as many idle connections as there may be
        flood = asyncio.create_task(_waves(greedy))
        await beside.steady(rate=50, seconds=2.0)
        before = len(endpoint.visits)
        for _ in range(40):
            await one_by_one.ask(1024)
        one_by_one.close()
        made = len(endpoint.visits) - before
        flood.cancel()
        greedy.close()
        assert made <= 3
    assert greedy.failures == one_by_one.failures == []
    assert_unharmed(beside, alone, judge_times)
