"""Endpoints that are ready and answer quickly with errors: what clients see of them (slow)."""

from __future__ import annotations

import pytest

from balancer.model.endpoints import LoadBalancing
from balancer.model.zones import ZonePolicy, ZonePolicyName
from tests.features.sick.stage import staged

PREFER, ADAPTIVE = ZonePolicy(ZonePolicyName.PREFER_ZONE), ZonePolicy(ZonePolicyName.ADAPTIVE)


@pytest.mark.slow
@pytest.mark.parametrize("grpc", [False, True], ids=["http1", "grpc"])
@pytest.mark.parametrize("policy", [PREFER, ADAPTIVE], ids=["prefer-zone", "adaptive"])
async def test_well_endpoints_serve_without_errors_at_home(policy: ZonePolicy, *, grpc: bool) -> None:
    async with staged(policy, grpc=grpc, warm_seconds=1.0) as stage:
        calm = await stage.lasts(2.0)
    print(stage.told())
    assert calm.ended >= 200
    assert calm.errors == 0
    assert calm.at_home >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("grpc", [False, True], ids=["http1", "grpc"])
@pytest.mark.parametrize("balancing", LoadBalancing)
@pytest.mark.parametrize("policy", [PREFER, ADAPTIVE], ids=["prefer-zone", "adaptive"])
async def test_one_of_two_endpoints_that_answers_errors_at_once_is_left(
    policy: ZonePolicy, balancing: LoadBalancing, *, grpc: bool
) -> None:
    if policy is ADAPTIVE and balancing is not LoadBalancing.ROUND_ROBIN:
        pytest.skip("adaptive has a choice of its own")
    async with staged(policy, grpc=grpc, load_balancing=balancing) as stage:
        sick = stage.home[0]
        sick.failing = 1.0
        await stage.lasts(2.0)
        after = await stage.lasts(15.0)
        sick.failing = 0.0
        seen = len(sick.came_at)
        back = await stage.comes(lambda: len(sick.came_at) > seen + 50, within=60.0)
    print(stage.told(), f"\nback after {back:.1f} s")
    assert after.error_share <= 0.02
    assert after.at_home >= 0.9
