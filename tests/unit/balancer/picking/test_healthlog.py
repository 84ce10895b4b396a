"""Each change of an endpoint is one line with address and zone, and flapping endpoints cannot flood the log."""

from __future__ import annotations

import logging

import pytest

from balancer.picking.backend import BackendRuntime
from balancer.picking.health import Change
from balancer.picking.healthlog import BURST, PER_SECOND, HealthLog
from balancer.picking.members import Member
from balancer.picking.outcomes import Outcome
from tests import builders as build


def shop() -> tuple[BackendRuntime, Member]:
    """A backend of two endpoints and the first of them, in zone-a, which has just been ejected."""
    runtime = BackendRuntime.fresh(
        build.backend(of=build.endpoints("ab")), own_zone=build.own_zone("zone-a"), random_below=lambda _: 0
    )
    member = runtime.members["10.0.0.1:80"]
    for _ in range(runtime.backend.ejection.consecutive_errors):
        runtime.health.report(member.health, Outcome.FAILED, now=100.0)
    return runtime, member


@pytest.mark.parametrize(
    ("change", "level", "said"),
    [
        (Change.EJECTED, "WARNING", "is ejected for 10 s: it failed too often in a row, last with connect_refused"),
        (Change.RETURNED, "INFO", "is back: it answered the request that probed it"),
        (Change.FAILS_CHECKS, "WARNING", "fails its active health checks"),
        (Change.PASSES_CHECKS, "INFO", "passes its active health checks again"),
    ],
)
def test_a_change_is_one_line_with_address_and_zone(
    change: Change, level: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    runtime, member = shop()
    HealthLog().tell(runtime, member, change, now=100.0, why="connect_refused")
    (record,) = caplog.records
    assert record.levelname == level
    assert record.getMessage() == f"endpoint 10.0.0.1:80 (zone-a) of {runtime.backend.key} {said}"


def test_a_probe_that_failed_changes_nothing_worth_a_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    HealthLog().tell(*shop(), Change.EJECTED_AGAIN, now=0.0)
    assert caplog.records == []


def test_flapping_is_bounded_and_the_next_line_says_how_much_was_left_out(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    runtime, member = shop()
    log = HealthLog()
    for _ in range(BURST + 30):
        log.tell(runtime, member, Change.RETURNED, now=7.0)
    assert len(caplog.records) == BURST
    log.tell(runtime, member, Change.RETURNED, now=7.0 + 1 / PER_SECOND)
    assert len(caplog.records) == BURST + 1
    assert caplog.messages[-1].endswith("(30 lines about endpoints were left out before this one)")


def test_quiet_times_save_up_no_more_than_a_burst(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    runtime, member = shop()
    log = HealthLog()
    for now in [0.0] * (2 * BURST) + [1e6] * (2 * BURST):
        log.tell(runtime, member, Change.PASSES_CHECKS, now=now)
    assert len(caplog.records) == 2 * BURST
