"""Endpoints that are ready and answer quickly with errors: what clients see of them (slow)."""

from __future__ import annotations

import pytest

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
