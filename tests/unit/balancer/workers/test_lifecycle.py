"""A worker is killed only for what it does not do in time, and crash loops slow down without slowing a lucky one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.workers.lifecycle import Life, Overdue, Phase, Restarts, Slot, Times
from tests.properties import examples

TIMES = Times()
TICK = 0.2


def serving(since: float = 0.0) -> Life:
    life = Life(TIMES, since)
    life.accepting(since)
    return life


def looked_at(life: Life, *, since: float, until: float) -> Overdue | None:
    """What is found of a process that answers, looked at as often as the supervisor does."""
    for tick in range(round((until - since) / TICK)):
        if (overdue := life.overdue(since + (tick + 1) * TICK)) is not None:
            return overdue
    return None


def killed_at(life: Life, *, since: float, until: float, starving: float = 0.0) -> float | None:
    """When a process that says nothing is found overdue, looked at and asked as often as the supervisor does.

    `starving`: the part of the time that it waits for a processor.
    """
    for tick in range(int((until - since) / TICK)):
        now = since + tick * TICK
        if life.overdue(now, starved=7.0 + starving * now) is not None:
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


@pytest.mark.parametrize(("starving", "least", "most"), [(0.0, 3.0, 3.9), (0.5, 6.0, 7.0), (1.0, 30.0, 31.0)])
def test_what_it_waits_for_a_processor_is_not_its_silence_for_half_a_minute(
    starving: float, least: float, most: float
) -> None:
    at = killed_at(serving(), since=0.0, until=60.0, starving=starving)
    assert at is not None
    assert least <= at <= most


def test_a_past_wait_for_a_processor_excuses_no_later_silence() -> None:
    life = serving()
    life.overdue(0.0, starved=0.0)
    life.asked(0.0)
    for tick in range(10):
        assert life.overdue(tick * TICK, starved=tick * TICK) is None
    life.heard()
    at = killed_at(life, since=10 * TICK, until=10.0)
    assert at is not None
    assert at <= 10 * TICK + 3.9


def test_a_stall_of_the_supervisor_is_not_held_against_one_that_starts() -> None:
    life = Life(TIMES, 0.0)
    life.overdue(0.0)
    assert life.overdue(31.0) is None
    at = killed_at(life, since=31.0, until=100.0)
    assert at is not None
    assert 60.0 <= at <= 62.0


def test_a_stall_of_the_supervisor_is_not_held_against_one_that_drains() -> None:
    life = serving()
    life.overdue(0.0)
    life.draining(0.0, seconds=5.0)
    assert life.overdue(60.0) is None
    assert life.overdue(60.4) is None


def test_after_a_start_that_was_too_slow_the_next_one_has_twice_the_time() -> None:
    slot, had = Slot(TIMES), list[float]()
    for _ in range(6):
        had.append(slot.times.start)
        slot.ended(Life(slot.times, 0.0), 100.0, killed=True)
    assert had == [30.0, 60.0, 120.0, 240.0, 300.0, 300.0]
    assert slot.times.answer == TIMES.answer
    slot.ended(Life(slot.times, 0.0), 100.0, killed=False)
    assert slot.times.start == 300.0, "one that ends by itself was not too slow, and says nothing about those that were"
    slot.ended(serving(), 100.0, killed=False)
    assert slot.times.start == 30.0


def test_one_that_has_hung_up_is_asked_no_more_and_has_the_time_of_its_drain() -> None:
    life = serving()
    life.asked(0.0)
    life.draining(0.0, seconds=20.0)
    life.hung_up()
    assert not life.wants_ping(10.0)
    assert looked_at(life, since=0.0, until=23.9) is None
    assert looked_at(life, since=23.9, until=24.2) is Overdue.DRAIN


def test_one_is_late_when_it_owes_an_answer_for_as_long_as_between_two_questions() -> None:
    life = serving()
    assert not life.is_late(10.0)
    life.asked(10.0)
    assert not life.is_late(10.4)
    assert life.is_late(10.5)
    life.heard()
    assert not life.is_late(10.6)


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
    life = serving(10.0)
    life.draining(10.0, seconds=5.0)
    assert not life.is_accepting
    assert looked_at(life, since=10.0, until=18.0) is None
    assert looked_at(life, since=18.0, until=19.1) is Overdue.DRAIN


def test_the_nearer_of_two_limits_of_a_drain_holds() -> None:
    life = serving(10.0)
    life.draining(10.0, seconds=5.0)
    life.draining(11.0, seconds=500.0)
    assert looked_at(life, since=10.0, until=19.1) is Overdue.DRAIN


@given(st.lists(st.sampled_from(["accepting", "retiring", "draining"]), max_size=6))
@examples(50)
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


def ended(slot: Slot, *, begun: float, served: float | None, at: float, killed: bool = False) -> float | None:
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
    """When processes start that live as long as said after they accept, None: do not; each slot has all of them.

    Nothing that serves for less than a proof counts as a success, and nothing else as a failure.
    """
    restarts, begun = Restarts(TIMES), list[Start]()
    # When, which slot, what of it: the end of a process, its proof, or the next try to start one.
    events = [(0.0, number, "start") for number in range(slots)]
    places = [Slot(TIMES) for _ in range(slots)]
    rest, current, failed = [list(lives) for _ in places], [0.0] * slots, [False] * slots
    while events:
        events.sort()
        now, number, kind = events.pop(0)
        if kind == "start":
            if failed[number] and (seconds := restarts.take(now)) > 0:
                events.append((now + seconds, number, kind))
                continue
            begun.append(Start(now, failed[number]))
            current[number] = now
            if rest[number]:
                served = rest[number][0]
                events.append((now + start_seconds + (served or 0.0), number, "end"))
                if served is not None and served >= TIMES.proof:
                    events.append((now + start_seconds + TIMES.proof, number, "a proof"))
        elif kind == "a proof":
            restarts.succeeded()
            events = [
                (now, other, kind) if kind == "start" and failed[other] else (at, other, kind)
                for at, other, kind in events
            ]
        else:
            pause = ended(places[number], begun=current[number], served=rest[number].pop(0), at=now, killed=killed)
            failed[number] = pause is None
            events.append((now + (pause or 0.0), number, "start"))
    return begun


def pauses(lives: Sequence[float | None], *, killed: bool = False) -> list[float]:
    return [
        round(later.at - earlier.at - 0.2 - (life or 0.0), 3)
        for (earlier, later), life in zip(pairwise(starts(lives, killed=killed)), lives, strict=True)
    ]


def begins(lives: Sequence[float | None]) -> list[float]:
    return [round(start.at, 3) for start in starts(lives, start_seconds=0.0)]


def test_the_first_replacement_comes_at_once_and_then_pauses_grow() -> None:
    assert begins([None] * 8) == [0.0, 0.0, 0.2, 1.0, 4.2, 14.2, 24.2, 34.2, 44.2]


def test_one_that_was_killed_while_it_served_is_replaced_within_a_second_however_often() -> None:
    assert max(pauses([0.0, 0.3] * 50, killed=True)) <= 0.1
    assert max(pauses([1.5] * 100)) <= 0.1


def test_a_minute_of_service_is_a_new_beginning() -> None:
    assert pauses([2.0, 2.0, 2.0, 61.0, 2.0]) == [0.0, 0.1, 0.1, 0.0, 0.0]


def test_one_that_ends_as_soon_as_it_serves_has_failed() -> None:
    assert pauses([0.9] * 6)[-1] > 8.0


def test_a_start_that_succeeds_ends_the_pauses_of_those_that_failed() -> None:
    # The last one follows the first failure after the success.
    assert pauses((*[None] * 6, 5.0, None))[-2:] == [0.0, 0.0]


def test_a_failure_of_two_seconds_is_over_within_five_and_then_no_slot_waits_long() -> None:
    restarts, now = Restarts(TIMES), 0.0
    while now < 2.0:  # whoever starts fails at once
        now += restarts.take(now)
    assert now <= 5.0
    assert restarts.take(now) == 0.0
    restarts.succeeded()
    now += TIMES.proof
    for _ in range(3):
        now += restarts.take(now)
    assert now <= 7.0


@pytest.mark.parametrize("slots", [1, 3])
def test_a_crash_loop_that_begins_with_workers_that_served_has_fewer_than_ten_starts_a_minute(slots: int) -> None:
    begun = [start.at for start in starts((3.0, *[None] * 30), slots=slots) if start.after_failure]
    assert all(later - first > 60.0 - 1e-6 for first, later in zip(begun, begun[9:], strict=False))


def test_without_a_success_some_slot_tries_every_ten_seconds() -> None:
    begun = [start.at for start in starts((3.0, *[None] * 30), slots=8)]
    assert max(later - earlier for earlier, later in pairwise(begun)) <= TIMES.longest_pause + 1e-6


@given(
    st.lists(st.one_of(st.none(), st.floats(0.0, 0.9)), min_size=1, max_size=40),
    st.integers(1, 8),
    st.floats(0.0, 3.0),
)
@examples(100)
def test_fewer_than_ten_starts_a_minute_follow_starts_that_failed(
    lives: list[float | None], slots: int, start_seconds: float
) -> None:
    begun = starts(lives, slots=slots, start_seconds=start_seconds)
    after = [start.at for start in begun if start.after_failure]
    assert all(later - first > 60.0 - 1e-6 for first, later in zip(after, after[9:], strict=False))
