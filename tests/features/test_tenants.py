"""The tests of greedy tenants judge fairly: a modest tenant is unharmed beside a tenant who asks for nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.endpoints import ScriptedEndpoint
from tests.features.faults.load import Ledger, Load, honest
from tests.features.tenants.neighbours import Tenant, assert_unharmed, in_one_of_three, neighbours

pytestmark = pytest.mark.faults


@in_one_of_three
async def test_a_quiet_neighbour_harms_nobody(tmp_path: Path, judge_times: bool) -> None:
    ledger = Ledger()
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        neighbours(tmp_path, Tenant("quiet", [endpoint]), Tenant("modest", [endpoint])) as zonal,
    ):
        alone, beside = Load(zonal.http_port, prefix="/modest"), Load(zonal.http_port, prefix="/modest")
        await alone.steady(rate=50, seconds=1.0)
        await beside.steady(rate=50, seconds=1.0)
    assert_unharmed(beside, alone, judge_times)
    assert ledger.doubled_posts == ledger.wrong_bodies == []
