"""The last minutes as points: rates, and a bounded memory."""

from __future__ import annotations

import pytest

from ingress.admin.overview.timeline import COARSE_SECONDS, FINE_SECONDS, KEPT_SECONDS, Timeline
from ingress.admin.overview.traffic import ServiceAccount

BOUNDS = (1.0, 2.0, 4.0)


def test_a_point_has_the_rates_since_the_last_one() -> None:
    account, timeline = ServiceAccount(), Timeline()
    assert timeline.note(account, now=100.0) is None
    account.local, account.remote, account.errors = 40.0, 10.0, 2.0
    account.reasons = {"zone_local": 40.0, "spill_load": 10.0}
    account.local_buckets[3] = 40.0
    point = timeline.note(account, now=102.0)
    assert point is not None
    assert (point.seconds, point.local, point.remote, point.errors, point.picks, point.spilled) == (2, 20, 5, 1, 25, 5)
    assert point.p50_local == pytest.approx(0.00375)
    assert point.p99_remote is None
    assert timeline.points() == (point,)


def test_a_clock_that_stands_still_makes_no_point() -> None:
    account, timeline = ServiceAccount(), Timeline()
    timeline.note(account, now=100.0)
    assert timeline.note(account, now=100.0) is None
    assert timeline.note(account, now=99.0) is None
    assert timeline.points() == ()


def test_an_hour_is_kept_the_older_part_in_longer_spans() -> None:
    account, timeline = ServiceAccount(), Timeline()
    assert timeline.points() == ()
    for second in range(5000):
        account.local = 10.0 * second
        timeline.note(account, now=float(second))
    points = timeline.points()
    assert points[-1].at_epoch_seconds == 4999
    assert abs(4999 - points[0].at_epoch_seconds - KEPT_SECONDS) <= COARSE_SECONDS
    assert {point.seconds for point in points} == {1.0, COARSE_SECONDS}
    assert len(points) <= FINE_SECONDS + (KEPT_SECONDS - FINE_SECONDS) / COARSE_SECONDS + 4
    assert all(point.local == pytest.approx(10.0) for point in points)
    # Each moment is told once, but for the span in which short ones begin.
    told = sum(point.seconds for point in points)
    assert abs(told - (4999 - points[0].at_epoch_seconds + points[0].seconds)) <= COARSE_SECONDS
