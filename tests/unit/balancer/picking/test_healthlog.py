"""Each change of an endpoint is one line with address and zone, and flapping endpoints cannot flood the log."""

from __future__ import annotations

import logging

import pytest

from balancer.model.zones import ZonePolicy, ZonePolicyName
from balancer.picking.backend import BackendRuntime
from balancer.picking.endpoint_health import Change
from balancer.picking.healthlog import BURST, PER_SECOND, HealthLog
from balancer.picking.members import Member
from balancer.picking.outcomes import Outcome
from balancer.zones.evacuation import ZoneChange, ZoneTurn
from balancer.zones.failures import FailureCount
from tests import builders as build


def shop() -> tuple[BackendRuntime, Member]:
    """A backend of two endpoints and the first of them, in zone-a, which has just been ejected."""
    runtime = BackendRuntime.fresh(
        build.backend(of=build.endpoints("ab")), own_zone=build.own_zone("zone-a"), random_below=lambda _: 0
    )
    member = runtime.members["10.0.0.1:80"]
    for _ in range(runtime.backend.ejection.consecutive_errors):
        runtime.health.report(member.health, Outcome.UNREACHED, now=100.0)
    return runtime, member


@pytest.mark.parametrize(
    ("change", "level", "said"),
    [
        (Change.EJECTED, "WARNING", "is ejected for 10 s: it failed too often in a row, last with connect_refused"),
        (
            Change.FELL_SILENT,
            "WARNING",
            "is ejected for 10 s: a connection to it is pending, while other endpoints answer",
        ),
        (Change.HEARD, "INFO", "is back: a connection to it was made"),
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


@pytest.mark.parametrize(
    ("turn", "policy", "level", "said"),
    [
        (ZoneTurn.BEGUN, "prefer-zone", "WARNING", "is left"),
        (ZoneTurn.ENDED, "prefer-zone", "INFO", "has its requests back after 42 s"),
        (ZoneTurn.BEGUN, "hints", "WARNING", "is left (dry run: no request leaves)"),
    ],
)
def test_a_zone_that_is_left_is_one_line_with_the_figures_that_decided(
    turn: ZoneTurn, policy: str, level: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    backend = build.backend(of=build.endpoints("ab"), zone_policy=ZonePolicy(ZonePolicyName(policy)))
    runtime = BackendRuntime.fresh(backend, own_zone=build.own_zone("zone-a"), random_below=lambda _: 0)
    runtime.balancer()
    change = ZoneChange("zone-a", turn, FailureCount(100.0, 41.2), FailureCount(60.0, 0.0), 42.0)
    HealthLog().tell_zone(runtime, change, now=0.0)
    (record,) = caplog.records
    assert record.levelname == level
    figures = "lately 41 of 100 (41%) of its answers failed, of other zones 0 of 60 (0%)"
    assert record.getMessage() == f"zone zone-a of shop/cart:80 {said}: {figures}"


def test_lines_about_zones_are_bounded_with_those_about_endpoints(caplog: pytest.LogCaptureFixture) -> None:
    runtime, _ = shop()
    log = HealthLog()
    change = ZoneChange("zone-a", ZoneTurn.BEGUN, FailureCount(9.0, 9.0), FailureCount())
    for _ in range(BURST + 3):
        log.tell_zone(runtime, change, now=0.0)
    assert len(caplog.records) == BURST


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
