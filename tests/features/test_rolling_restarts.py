"""Rolling restarts behind a load balancer that follows readiness late: no client notices."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.features.rolling.restarting import Result, Times, restarted

_TOLD_AT_LEAST = 0.95
_QUICK = Times(grace=0.7, limit=5.0, lag=(0.1, 0.6))
_WHOLE = Times(grace=6.0, limit=10.0, lag=(1.0, 5.0))  # the grace period must outlast the load balancer's lag


def judge(result: Result, *, restarts: int, times: Times) -> None:
    crowd = result.crowd
    assert crowd.failures == []
    assert result.refused == 0
    assert max(result.ledger.posts.values()) == 1, "a POST arrived twice"
    assert result.ledger.wrong_bodies == []
    assert crowd.told / (crowd.told + crowd.untold) >= _TOLD_AT_LEAST
    assert len(result.exit_seconds) == 2 * (restarts + 1)
    assert max(result.exit_seconds) <= times.grace + times.limit


async def test_two_rolling_restarts_fail_no_request(tmp_path: Path) -> None:
    result = await restarted(tmp_path, restarts=2, times=_QUICK, clients=(10, 4), every_seconds=0.1, seed=1)
    judge(result, restarts=2, times=_QUICK)
    assert result.crowd.answered > 200


@pytest.mark.faults
@pytest.mark.slow
async def test_twenty_rolling_restarts_fail_no_request(tmp_path: Path) -> None:
    result = await restarted(tmp_path, restarts=20, times=_WHOLE, clients=(20, 6), every_seconds=0.1, seed=1)
    crowd, slowest = result.crowd, max(result.exit_seconds)
    print(
        f"{crowd.answered} requests, {len(crowd.failures)} failed; {crowd.told} of {crowd.told + crowd.untold} "
        f"connections told; {len(result.exit_seconds)} exits, the slowest after {slowest:.1f} s"
    )
    judge(result, restarts=20, times=_WHOLE)
    assert crowd.answered > 20_000
