"""A zone that is ready and sick is left by evidence, and has its requests back soon after its repair.

Three zones of two endpoints behind a worker in zone-a, 200 requests a second, over real sockets.
"""

from __future__ import annotations

import asyncio
import time

import pytest

from balancer.metrics.definitions import ZONE_EVACUATIONS
from balancer.model.zones import ZoneEvacuation, ZonePolicy, ZonePolicyName
from balancer.runtime.steps import finished
from balancer.workers.messages import ZoneReport
from tests.features.sick.endpoints import SickServer
from tests.features.sick.stage import Stage, staged

pytestmark = pytest.mark.faults

PREFER, ADAPTIVE = ZonePolicy(ZonePolicyName.PREFER_ZONE), ZonePolicy(ZonePolicyName.ADAPTIVE)
BOTH = pytest.mark.parametrize("policy", [PREFER, ADAPTIVE], ids=lambda policy: policy.name.value)

SETTLED_SECONDS = 5.0  # after a fault
HOME_SECONDS = 30.0  # after a repair
ERRORS_MOST, HOME_LEAST, STAY_LEAST = 0.02, 0.95, 0.9


def fail(stage: Stage, share: float, *, everywhere: bool = False) -> None:
    """So many of the answers at home fail from now on, or of all answers."""
    for each in stage.endpoints if everywhere else stage.home:
        each.failing = share


def zone_a(stage: Stage) -> ZoneReport | None:
    """What the worker tells of the own zone; nothing while nothing fails."""
    found = finished(stage.plane.worker.judging())
    return next((each for each in found.zones if each.zone == "zone-a"), None)


async def is_left_and_returned_to(stage: Stage, failing: float) -> None:
    await asyncio.sleep(2.0)  # all is well
    assert stage.plane.decisions()["spill_errors"] == 0
    fail(stage, failing)
    await asyncio.sleep(SETTLED_SECONDS)
    sick = await stage.lasts(8.0)
    assert sick.error_share <= ERRORS_MOST, stage.told()
    told = zone_a(stage)
    assert (
        told is not None and told.share > 0.0 and not told.dry_run
    )  # where all its endpoints are ejected, less is enough
    fail(stage, 0.0)
    repaired = time.perf_counter()
    while (await stage.lasts(1.0)).at_home < HOME_LEAST:
        assert time.perf_counter() - repaired < HOME_SECONDS, stage.told()


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("failing", [0.4, 1.0])
async def test_a_sick_zone_is_left_within_seconds_and_has_its_requests_back(policy: ZonePolicy, failing: float) -> None:
    async with staged(policy) as stage:
        await is_left_and_returned_to(stage, failing)
        assert stage.plane.decisions()["spill_errors"] > 0


@pytest.mark.slow
@BOTH
async def test_the_same_where_the_zone_has_a_single_endpoint(policy: ZonePolicy) -> None:
    """Its ejection and the leaving of its zone are one."""
    async with staged(policy, zones="abbcc") as stage:
        await is_left_and_returned_to(stage, 0.4)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("failing", [0.4, 1.0])
@pytest.mark.parametrize("trailers_only", [True, False], ids=["trailers only", "trailers"])
async def test_the_same_by_the_statuses_of_grpc(policy: ZonePolicy, failing: float, *, trailers_only: bool) -> None:
    async with staged(policy, grpc=True) as stage:
        for each in stage.endpoints:
            assert isinstance(each, SickServer)
            each.trailers_only = trailers_only
        await is_left_and_returned_to(stage, failing)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("grpc", [False, True], ids=["http1", "grpc"])
async def test_where_all_zones_are_alike_nearly_all_stay(policy: ZonePolicy, *, grpc: bool) -> None:
    async with staged(policy, grpc=grpc) as stage:
        fail(stage, 0.4, everywhere=True)
        assert (await stage.lasts(20.0)).at_home >= STAY_LEAST, stage.told()


@pytest.mark.slow
@BOTH
async def test_a_few_errors_at_home_are_no_reason_to_leave(policy: ZonePolicy) -> None:
    async with staged(policy) as stage:
        fail(stage, 0.02)
        assert (await stage.lasts(20.0)).at_home >= STAY_LEAST, stage.told()


@pytest.mark.slow
async def test_a_dry_run_tells_and_moves_nobody() -> None:
    policy = ZonePolicy(ZonePolicyName.PREFER_ZONE, asked_evacuation=ZoneEvacuation.DRY_RUN)
    async with staged(policy) as stage:
        fail(stage, 0.4)
        sick = await stage.lasts(8.0)
        assert sick.at_home == 1.0
        told = zone_a(stage)
        assert told is not None and told.dry_run and told.failed > 0.2 * told.answers
        assert told.state == "probing"


async def test_the_line_and_the_counter_name_the_zone_and_its_figures(caplog: pytest.LogCaptureFixture) -> None:
    async with staged(PREFER, warm_seconds=0.5) as stage:
        fail(stage, 1.0)
        await stage.comes(lambda: stage.plane.counted(ZONE_EVACUATIONS.name) == 1, within=30.0)
    (line,) = (record.getMessage() for record in caplog.records if "is left" in record.getMessage())
    assert line.startswith("zone zone-a of shop/cart:80 is left: lately ")
    assert "of other zones 0 of " in line
