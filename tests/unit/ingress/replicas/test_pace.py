"""How many requests a second come: at first, later, after a pause, and when they stop."""

from __future__ import annotations

import pytest

from ingress.replicas.pace import RecentPace


def test_of_what_is_new_the_average_is_the_mean() -> None:
    pace = RecentPace()
    for count, rate in ((10, 20.0), (20, 30.0)):
        pace.take(count, 0.5)
        assert pace.rate == pytest.approx(rate)


def test_a_change_is_known_after_two_seconds() -> None:
    pace = RecentPace()
    for count in [10] * 8 + [50] * 4:
        pace.take(count, 0.5)
    assert 85.0 < pace.rate < 95.0


def test_after_a_pause_the_average_begins_anew() -> None:
    pace = RecentPace()
    for count in (50, 0, 0, 5):
        pace.take(count, 0.5)
    assert pace.rate == pytest.approx(10.0)


def test_the_end_is_known_sooner_than_by_the_average() -> None:
    fast, slow = RecentPace(), RecentPace()
    for pace, count in ((fast, 50), (slow, 1)):
        pace.take(count, 0.5)
        pace.take(0, 0.5)
        assert not pace.has_ended, "messages come each half second, so one may be late"
        pace.take(0, 0.5)
    assert fast.has_ended
    assert not slow.has_ended, "few requests have such gaps"
