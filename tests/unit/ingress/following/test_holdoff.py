"""The holdoff waits for quiet, but never longer than its limit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ingress.following.holdoff import (
    CALM_SECONDS,
    ENDPOINTS_LIMIT_SECONDS,
    LIMIT_SECONDS,
    LONE_SECONDS,
    QUIET_SECONDS,
    Holdoff,
)


def test_nothing_is_due_before_anything_changed() -> None:
    assert Holdoff().due_at() is None


def test_one_change_is_due_after_the_quiet_time() -> None:
    holdoff = Holdoff()
    holdoff.touch(10.0)
    assert holdoff.due_at() == 10.0 + QUIET_SECONDS


def test_each_change_puts_it_off() -> None:
    holdoff = Holdoff()
    holdoff.touch(10.0)
    holdoff.touch(10.04)
    assert holdoff.due_at() == 10.04 + QUIET_SECONDS


def test_endless_change_is_due_at_the_limit() -> None:
    holdoff = Holdoff()
    for step in range(100):
        holdoff.touch(10.0 + step * 0.01)
    assert holdoff.due_at() == 10.0 + LIMIT_SECONDS
    assert holdoff.due_at(limit_seconds=ENDPOINTS_LIMIT_SECONDS) == 10.0 + ENDPOINTS_LIMIT_SECONDS


def test_after_a_reset_it_starts_anew() -> None:
    holdoff = Holdoff()
    holdoff.touch(10.0)
    holdoff.reset()
    assert holdoff.due_at() is None
    holdoff.touch(20.0)
    assert holdoff.due_at() == 20.0 + QUIET_SECONDS


def test_a_lone_change_is_due_sooner() -> None:
    holdoff = Holdoff()
    holdoff.touch(10.0, may_be_lone=True)
    assert holdoff.due_at() == 10.0 + LONE_SECONDS


def test_a_change_that_another_one_follows_is_not_alone() -> None:
    holdoff = Holdoff()
    holdoff.touch(10.0, may_be_lone=True)
    holdoff.touch(10.01, may_be_lone=True)
    assert holdoff.due_at() == 10.01 + QUIET_SECONDS


def test_a_change_soon_after_another_one_is_not_alone() -> None:
    holdoff = Holdoff()
    holdoff.touch(10.0, may_be_lone=True)
    holdoff.reset()
    soon = 10.0 + CALM_SECONDS / 2
    holdoff.touch(soon, may_be_lone=True)
    assert holdoff.due_at() == soon + QUIET_SECONDS
    holdoff.reset()
    holdoff.touch(soon + CALM_SECONDS, may_be_lone=True)
    assert holdoff.due_at() == soon + CALM_SECONDS + LONE_SECONDS


@given(st.lists(st.floats(0, 10), min_size=1).map(sorted))
def test_it_is_due_after_the_last_change_or_at_the_limit_after_the_first(times: list[float]) -> None:
    holdoff = Holdoff(quiet_seconds=1.0)
    for time in times:
        holdoff.touch(time)
    due = holdoff.due_at(limit_seconds=3.0)
    assert due is not None
    assert due <= times[0] + 3.0
    assert due == times[-1] + 1.0 or times[-1] + 1.0 > times[0] + 3.0
