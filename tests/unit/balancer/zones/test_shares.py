"""A share moves within its bounds, steps shrink when they turn, and tries in vain are farther and farther apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.zones.shares import LOCAL_LEAST, MovingShare, Pause


@given(st.lists(st.floats(-2.0, 2.0)), st.floats(0.0, 1.0))
def test_a_share_stays_within_its_bounds_and_a_little_stays_in_the_zone(values: list[float], most: float) -> None:
    share = MovingShare(most)
    for value in values:
        share.move(value)
        assert 0.0 <= share.value <= min(most, 1.0 - LOCAL_LEAST)
        assert share.basis_points == round(share.value * 10_000)


def test_steps_shrink_with_each_change_of_direction_and_grow_again() -> None:
    share = MovingShare()
    assert share.step(1, 1.0) == 1.0
    turned = share.step(-1, 1.0)
    assert turned == pytest.approx(0.35)
    assert share.step(1, 1.0) < turned
    assert share.step(1, 100.0) == 1.0


def test_changes_of_direction_are_remembered_for_half_a_minute_each() -> None:
    share = MovingShare()
    for direction in (1, -1, 1):
        share.step(direction, 0.1)
    assert (share.turns, share.direction) == (2.0, 1)
    share.forget(30.0)
    assert share.turns == 1.0
    share.forget(300.0)
    assert share.turns == 0.0


def test_at_its_end_nothing_of_the_way_is_remembered() -> None:
    share = MovingShare()
    share.move(0.5)
    share.step(1, 1.0)
    share.step(-1, 1.0)
    share.end()
    assert (share.value, share.turns, share.direction, share.step(1, 0.0)) == (0.0, 0.0, 0, 1.0)


def test_a_pause_doubles_to_its_most_and_shortens_when_a_try_was_worth_it() -> None:
    pause = Pause(8.0, 20.0)
    ends = []
    for _ in range(3):
        pause.begin(100.0)
        ends.append(pause.until)
    assert ends == [108.0, 116.0, 120.0]
    pause.shorten()
    pause.begin(100.0)
    assert pause.until == 108.0
