"""A zone is left in steps, each on evidence, and brings its requests back in steps."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.zones.departure import LEVELS, Departure, DepartureStep
from balancer.zones.failures import FailureWindow
from balancer.zones.weighing import Weighing
from tests.properties import examples

pytestmark = pytest.mark.large

TICK, RATE = 0.1, 100.0
Failing = Callable[[float], float]


class Course:
    """One zone and the zones that receive what leaves it, each tick as many answers as the share says."""

    def __init__(self, seed: int = 1, *, rate: float = RATE) -> None:
        self.departure, self.own, self.others = Departure(), FailureWindow(), FailureWindow()
        self.now, self.rate = 0.0, rate
        self.shares = [0.0]
        self.steps = [DepartureStep.WELL]
        self._chance, self._due = random.Random(seed), [0.0, 0.0]

    def run(self, seconds: float, own: float, others: float = 0.0, *, slower: Failing = lambda _: 0.02) -> Course:
        """`seconds` more, in which these shares of the answers fail. `slower` is the latency of others, by share."""
        for _ in range(round(seconds / TICK)):
            self.now += TICK
            share = self.departure.share
            self._answer(0, self.own, (1.0 - share), own, 0.02)
            self._answer(1, self.others, share, others, slower(share))
            if self.departure.judge(Weighing(self.own, [self.others]), self.now):
                self.own.restart()
            if self.departure.share != self.shares[-1]:
                self.shares.append(self.departure.share)
            if self.departure.step is not self.steps[-1]:
                self.steps.append(self.departure.step)
        return self

    def _answer(self, zone: int, window: FailureWindow, share: float, failing: float, seconds: float) -> None:
        self._due[zone] += share * self.rate * TICK
        while self._due[zone] >= 1.0:
            self._due[zone] -= 1.0
            window.note(failed=self._chance.random() < failing, seconds=seconds)
        window.pass_time(TICK)


@pytest.mark.parametrize("failing", [1.0, 0.4])
def test_a_sick_zone_is_left_within_five_seconds_and_has_everything_back_after_its_repair(failing: float) -> None:
    course = Course().run(5.0, failing)
    assert course.departure.share == pytest.approx(0.97)
    assert course.run(15.0, failing).departure.share == pytest.approx(0.97)
    assert course.run(15.0, 0.0).departure.share == 0.0
    left = [share for share in course.shares if share in LEVELS]
    assert left == [0.0, 0.1, 0.3, 0.97, 0.3, 0.1, 0.0]
    assert course.steps == [
        DepartureStep.WELL,
        DepartureStep.PROBING,
        DepartureStep.LEAVING,
        DepartureStep.RETURNING,
        DepartureStep.WELL,
    ]


@given(st.integers(0, 1000), st.lists(st.tuples(st.floats(0.5, 20.0), st.floats(0, 1), st.floats(0, 1)), max_size=6))
@examples(40)
def test_a_little_always_stays_and_each_step_is_to_the_next_level(
    seed: int, phases: list[tuple[float, float, float]]
) -> None:
    course = Course(seed)
    for seconds, own, others in phases:
        course.run(seconds, own, others)
    assert max(course.shares) <= 0.97
    levels = [LEVELS.index(share) for share in course.shares if share in LEVELS]
    assert all(abs(after - before) <= 1 for before, after in pairwise(levels))


@given(st.integers(0, 1000), st.sampled_from([0.05, 0.1, 0.4, 1.0]))
@examples(30)
def test_where_all_are_alike_at_least_nine_of_ten_stay(seed: int, failing: float) -> None:
    course = Course(seed).run(60.0, failing, failing)
    assert max(course.shares) <= 0.3
    assert course.departure.share <= 0.1


@given(st.integers(0, 1000))
@examples(20)
def test_a_few_errors_are_not_worth_the_way(seed: int) -> None:
    assert max(Course(seed).run(60.0, 0.02).shares) < 0.1


def test_if_leaving_helps_nobody_any_more_requests_return() -> None:
    course = Course().run(10.0, 0.4)
    assert course.departure.share > 0.9
    assert course.run(30.0, 0.4, 0.5).departure.share <= 0.1


def test_a_step_that_makes_others_fail_is_taken_back_and_not_tried_again_soon() -> None:
    course = Course()
    while course.departure.share < 0.3:
        course.run(TICK, 1.0)
    course.run(6.0, 1.0, 0.3)
    assert course.departure.share < 0.3
    assert DepartureStep.HELD in course.steps
    begun = course.now
    while course.departure.share < 0.3:
        course.run(TICK, 1.0)
    assert course.now - begun > 40.0


def test_a_step_that_makes_others_slow_is_taken_back() -> None:
    course = Course(rate=400.0).run(20.0, 1.0, slower=lambda share: 0.06 if share > 0.3 else 0.02)
    assert course.departure.share <= 0.3
    assert DepartureStep.HELD in course.steps


def test_the_first_latencies_of_quick_answers_are_no_burden() -> None:
    course = Course(rate=400.0).run(10.0, 1.0, slower=lambda share: 0.004 if share > 0.3 else 0.001)
    assert course.departure.share == pytest.approx(0.97)


def test_a_zone_that_flaps_is_left_for_longer_each_time_and_turns_twice_a_minute_at_most() -> None:
    course = Course()
    turns: list[float] = []
    before, direction = 0.0, 0
    for number in range(round(600 / TICK)):
        share = course.run(TICK, float(number * TICK % 40.0 < 20.0)).departure.share
        now_direction = (share > before) - (share < before)
        if now_direction:
            turns += [course.now] if direction == -now_direction else []
            before, direction = share, now_direction
    assert all(later - earlier >= 55.0 for earlier, later in zip(turns, turns[2:], strict=False))
    assert len(turns) <= 8


def test_a_zone_of_which_nothing_is_heard_any_more_is_no_longer_left() -> None:
    course = Course().run(6.0, 1.0)
    assert course.departure.is_leaving
    course.rate = 0.0
    course.run(300.0, 0.0)
    assert course.departure.share == 0.0


def test_without_zones_that_receive_nothing_leaves() -> None:
    departure, own = Departure(), FailureWindow()
    for tick in range(100):
        for _ in range(10):
            own.note(failed=True, seconds=0.01)
        own.pass_time(TICK)
        assert not departure.judge(Weighing(own, []), tick * TICK)
    assert departure.basis_points == 0
