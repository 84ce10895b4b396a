"""Listeners and routes come and go under load, workers and the leader are killed: nobody gets a wrong answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.gateway_churn.__main__ import misses
from tests.bench.gateway_churn.course import follow
from tests.bench.gateway_churn.objects import Plan


@pytest.mark.slow
async def test_a_short_run_misses_nothing(tmp_path: Path) -> None:
    plan = Plan(listeners=6, routes=240, rate=60, changes=10, seconds=40.0, quiet_seconds=8.0)
    outcome = await follow(plan, tmp_path)
    assert misses(outcome) == []
    assert outcome.kills["leader"] == 1
    assert outcome.kills["workers"] >= 1
    assert outcome.seen.outcomes["answered"] > 0
    assert {"routes", "listeners"} <= outcome.changes.keys()


@pytest.mark.slow
async def test_a_thousand_changes_a_second_end_in_the_last_state_everywhere(tmp_path: Path) -> None:
    plan = Plan(
        listeners=6,
        routes=240,
        rate=40,
        changes=1700,
        seconds=10.0,
        workers=1,
        quiet_seconds=5.0,
        calm_seconds=2.0,
        kills=0,
    )
    outcome = await follow(plan, tmp_path)
    assert misses(outcome) == []
    assert outcome.changes["routes"] > plan.seconds * 100
    assert outcome.seen.outcomes["answered"] > 0
    assert len(outcome.cores) == 2
