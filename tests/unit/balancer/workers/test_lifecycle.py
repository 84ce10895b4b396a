"""A worker is killed only for what it does not do in time, and crash loops slow down without slowing a lucky one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from balancer.workers.lifecycle import Life, Overdue, Phase, Restarts, Slot, Times

TIMES = Times()
TICK = 0.2


def serving(since: float = 0.0) -> Life:
    life = Life(TIMES, since)
    life.accepting(since)
    return life


def killed_at(life: Life, *, since: float, until: float) -> float | None:
    """When a process that says nothing is found overdue, looked at and asked as often as the supervisor does."""
    for tick in range(int((until - since) / TICK)):
        now = since + tick * TICK
        if life.overdue(now) is not None:
            return now
        if life.wants_ping(now):
            life.asked(now)
    return None


def test_a_process_has_half_a_minute_to_accept() -> None:
    life = Life(TIMES, 0.0)
    assert not life.is_accepting
    at = killed_at(life, since=0.0, until=40.0)
    assert at is not None
    assert 30.0 <= at <= 30.0 + 2 * TICK
    assert life.overdue(at) is Overdue.START


def test_one_that_hangs_is_found_within_four_seconds() -> None:
    life = serving()
    at = killed_at(life, since=0.0, until=40.0)
    assert at is not None
    assert 3.0 <= at <= 3.9
    assert life.overdue(at) is Overdue.ANSWER


def test_one_that_answers_is_never_killed() -> None:
    life = serving()
    for tick in range(1000):
        now = tick * TICK
        assert life.overdue(now) is None
        if life.wants_ping(now):
            life.asked(now)
        if tick % 12 == 0:
            life.heard()


def test_questions_alone_do_not_extend_the_time_for_an_answer() -> None:
    life = serving()
    for tick in range(20):
        life.asked(tick * TICK)
        life.overdue(tick * TICK)
    assert life.overdue(20 * TICK) is Overdue.ANSWER


def test_a_stall_of_the_supervisor_is_not_held_against_workers() -> None:
    life = serving()
    life.overdue(0.0)
    life.asked(0.0)
    assert life.overdue(60.0) is None, "nobody read what it answered meanwhile"
    assert killed_at(life, since=60.0, until=70.0) is not None


def test_it_is_asked_again_and_again() -> None:
    life = serving()
    asked = []
    for tick in range(50):
        if life.wants_ping(tick * TICK):
            life.asked(tick * TICK)
            asked.append(tick * TICK)
    assert all(0.59 <= later - earlier <= 0.61 for earlier, later in pairwise(asked))
    assert len(asked) == 50 // 3 + 1, "every third tick is the first after half a second"


def test_a_drain_ends_at_its_limit_or_is_ended() -> None:
    life = serving()
    life.draining(10.0, seconds=5.0)
    assert not life.is_accepting
    assert life.overdue(16.0) is None
    assert life.overdue(17.0) is Overdue.DRAIN


def test_the_nearer_of_two_limits_of_a_drain_holds() -> None:
    life = serving()
    life.draining(10.0, seconds=5.0)
    life.draining(11.0, seconds=500.0)
    assert life.overdue(17.0) is Overdue.DRAIN


@given(st.lists(st.sampled_from(["accepting", "retiring", "draining"]), max_size=6))
@settings(max_examples=50)
def test_phases_only_go_on(said: list[str]) -> None:
    life, seen = Life(TIMES, 0.0), [Phase.STARTING]
    for word in said:
        if word == "accepting":
            life.accepting(1.0)
        elif word == "retiring":
            life.retiring()
        else:
            life.draining(1.0, seconds=1.0)
        seen.append(life.phase)
    assert [phase.value for phase in seen] == sorted(phase.value for phase in seen)


def ended(slot: Slot, *, begun: float, served: float | None, at: float, killed: bool = False) -> float:
    life = Life(TIMES, begun)
    if served is not None:
        life.accepting(at - served)
    return slot.ended(life, at, killed=killed)


class Start(NamedTuple):
    at: float
    after_failure: bool


def starts(
    lives: Sequence[float | None], *, slots: int = 1, start_seconds: float = 0.2, killed: bool = False
) -> list[Start]:
    """When processes start that live as long as said after they accept, None: do not; each slot has all of them."""
    restarts = Restarts(TIMES)
    places = [(Start(0.0, False), number, Slot(TIMES, restarts), list(lives)) for number in range(slots)]
    begun = []
    while places:
        places.sort(key=lambda place: place[:2])
        start, number, slot, rest = places.pop(0)
        begun.append(start)
        if rest:
            served = rest.pop(0)
            end = start.at + start_seconds + (served or 0.0)
            following = ended(slot, begun=start.at, served=served, at=end, killed=killed)
            assert following >= end
            places.append(
                (Start(following, served is None or (served < TIMES.proof and not killed)), number, slot, rest)
            )
    return begun


def pauses(lives: Sequence[float | None], *, killed: bool = False) -> list[float]:
    return [
        round(later.at - earlier.at - 0.2 - (life or 0.0), 3)
        for (earlier, later), life in zip(pairwise(starts(lives, killed=killed)), lives, strict=True)
    ]


def test_the_first_replacement_comes_at_once_and_then_pauses_double() -> None:
    lives = [None] * 8
    assert pauses(lives) == [0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4]


def test_one_that_was_killed_while_it_served_is_replaced_within_a_second_however_often() -> None:
    assert max(pauses([0.0, 0.3] * 50, killed=True)) <= 0.1
    assert max(pauses([1.5] * 100)) <= 0.1


def test_a_minute_of_service_is_a_new_beginning() -> None:
    assert pauses([2.0, 2.0, 2.0, 61.0, 2.0]) == [0.0, 0.1, 0.1, 0.0, 0.0]


def test_one_that_ends_as_soon_as_it_serves_has_failed() -> None:
    assert pauses([0.9] * 6) == [0.0, 0.1, 0.2, 0.4, 0.8, 1.6]


def test_a_start_that_succeeds_ends_the_pauses_of_those_that_failed() -> None:
    lives = (*[None] * 6, 5.0, None)
    assert pauses(lives)[-2:] == [0.0, 0.0]


@pytest.mark.parametrize("slots", [1, 3])
def test_a_crash_loop_that_begins_with_workers_that_served_has_fewer_than_ten_starts_a_minute(slots: int) -> None:
    begun = [start.at for start in starts((3.0, *[None] * 30), slots=slots)[slots:]]
    assert all(later - first > TIMES.window - 1e-6 for first, later in zip(begun, begun[9:], strict=False))


@given(
    st.lists(st.one_of(st.none(), st.floats(0.0, 100.0)), min_size=1, max_size=40),
    st.integers(1, 8),
    st.floats(0.0, 3.0),
    st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_fewer_than_ten_starts_a_minute_follow_starts_that_failed(
    lives: list[float | None], slots: int, start_seconds: float, killed: bool
) -> None:
    begun = starts(lives, slots=slots, start_seconds=start_seconds, killed=killed)
    after = [start.at for start in begun if start.after_failure]
    assert all(later - first > TIMES.window - 1e-6 for first, later in zip(after, after[9:], strict=False))
