"""A tenant whose long lists of networks change all the time takes no time of a worker from another tenant."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.fakes.endpoints import ScriptedEndpoint
from tests.features.faults.load import Ledger, Load, honest
from tests.features.tenants.neighbours import Tenant, assert_unharmed, in_one_of_three, neighbours
from tests.integration.manifests import Document, ManifestFolder, ingress, path, rule

pytestmark = pytest.mark.faults

_LISTS, _NETWORKS = 30, 500
_CHANGES = 4


def _with_list(number: int, change: int) -> Document:
    """An Ingress with a list of its own, other than that of any change before."""
    networks = ",".join(f"10.{number}.{each // 250}.{each % 250 + change % 5}" for each in range(_NETWORKS))
    return ingress(
        f"list-{number:03}",
        rule(f"list-{number}.greedy.test", path("/", "app")),
        namespace="greedy",
        annotations={"nginx.ingress.kubernetes.io/whitelist-source-range": networks},
    )


@in_one_of_three
async def test_long_lists_that_change_all_the_time_do_not_hold_others(tmp_path: Path, judge_times: bool) -> None:
    async with ScriptedEndpoint(honest(Ledger())) as endpoint:
        modest = Tenant("modest", [endpoint])
        async with neighbours(tmp_path, modest, options=("--workers", "1")) as zonal:
            alone, beside = (Load(zonal.http_port, prefix="/modest") for _ in range(2))
            await alone.steady(rate=40, seconds=2.0)
            asking = asyncio.create_task(beside.steady(rate=40, seconds=4.0))
            for change in range(_CHANGES):
                folder = ManifestFolder(tmp_path / "manifests")
                folder.write("lists.json", *(_with_list(number, change) for number in range(_LISTS)))
                await asyncio.sleep(1.0)  # the load goes on
            await asking
    assert_unharmed(beside, alone, judge_times)
