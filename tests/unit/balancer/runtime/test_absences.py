"""What a loop missed: stalls by their length, waits for a processor, and nothing while beats come in time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.runtime.absences import (
    BEAT_SECONDS,
    HOPELESS_SECONDS,
    NEVER_ABSENT,
    TURN_SECONDS,
    TURNS,
    Absences,
    AttendedWait,
)


def beating(*until: float, starved: float = 0.0) -> Absences:
    """A loop that has turned in time from 100.0 to the first of `until`, and then at each of the others."""
    absences, now = Absences(), 100.0
    while now < until[0]:
        absences.beat(now, 0.0)
        now += BEAT_SECONDS
    for each in until:
        absences.beat(each, starved)
    return absences


def test_a_loop_that_turns_in_time_misses_nothing() -> None:
    assert beating(110.0).missed(100.0, 110.05) == 0.0
    assert NEVER_ABSENT.missed(0.0, 1000.0) == 0.0


def test_a_stall_counts_while_it_lasts_and_when_it_is_over() -> None:
    absences = beating(101.0)
    assert absences.missed(101.0, 103.0) == pytest.approx(2.0 - BEAT_SECONDS)
    assert absences.attended(100.5, 103.0) == pytest.approx(0.5 + BEAT_SECONDS)
    absences.beat(103.0, 0.0)
    assert absences.missed(101.0, 103.0) == pytest.approx(2.0 - BEAT_SECONDS)
    absences.beat(103.1, 0.0)
    assert absences.missed(100.5, 103.1) == pytest.approx(2.0 - BEAT_SECONDS)
    assert absences.missed(103.0, 103.1) == 0.0


def test_only_what_lies_within_counts() -> None:
    absences = beating(101.0, 103.0, 103.1, 105.1)
    assert absences.missed(101.0, 103.1) == pytest.approx(1.9)
    assert absences.missed(102.0, 103.1) == pytest.approx(0.95)
    assert absences.missed(101.0, 102.0) == pytest.approx(0.95)
    assert absences.missed(100.0, 106.0) == pytest.approx(1.9 + 1.9 + 0.9 - BEAT_SECONDS, abs=0.11)
    assert absences.missed(100.0, 101.0) == 0.0


def test_to_wait_for_a_processor_is_an_absence_although_beats_come_in_time() -> None:
    absences = Absences()
    absences.beat(100.0, 7.0)
    absences.beat(100.1, 7.08)
    assert absences.missed(100.0, 100.1) == pytest.approx(0.08)
    absences.beat(100.2, 7.08)
    assert absences.missed(100.1, 100.2) == 0.0
    absences.beat(100.3, 99.0)
    assert absences.missed(100.2, 100.3) == pytest.approx(0.1), "no more than there was"
    absences.beat(100.4, 0.0)
    absences.beat(100.5, 99.0)
    assert absences.missed(100.3, 100.5) == 0.0, "it was not known for a moment"


def test_old_absences_are_forgotten() -> None:
    absences = Absences()
    for number in range(1000):
        absences.beat(float(number), 0.0)
    assert 100.0 < absences.missed(0.0, 999.0) < 200.0


def test_a_wait_is_as_long_as_the_loop_turned() -> None:
    absences = beating(101.0)
    wait = AttendedWait(0.25, 101.0, absences)
    assert wait.left(101.05) == pytest.approx(0.2)
    assert wait.left(103.0) == pytest.approx(0.15), "a stall counts for one beat"
    absences.beat(103.0, 0.0)
    absences.beat(103.1, 0.0)
    assert wait.left(103.1) == pytest.approx(0.05)


def test_at_the_end_of_a_wait_the_loop_is_let_turn() -> None:
    wait = AttendedWait(0.25, 101.0, NEVER_ABSENT)
    assert [wait.left(102.0) for _ in range(TURNS + 1)] == [TURN_SECONDS] * TURNS + [0.0]
    wait = AttendedWait(0.25, 101.0, NEVER_ABSENT)
    wait.end()
    assert wait.left(101.0) == 0.0


def test_no_wait_is_endless() -> None:
    absences = beating(101.0)
    wait = AttendedWait(1.0, 101.0, absences)
    assert wait.left(102.0 + HOPELESS_SECONDS - 0.5) == pytest.approx(0.5)
    assert [wait.left(102.0 + HOPELESS_SECONDS) for _ in range(TURNS + 1)][-1] == 0.0


@given(
    st.lists(st.tuples(st.floats(0.0, 3.0), st.floats(0.0, 3.0)), max_size=60),
    st.floats(0.0, 60.0),
    st.floats(0.0, 60.0),
)
def test_nobody_misses_more_than_there_was_and_parts_add_up(
    beats: list[tuple[float, float]], first: float, second: float
) -> None:
    absences, now, starved = Absences(), 0.0, 0.0
    absences.beat(now, starved)
    for seconds, waited in beats:
        now += seconds
        starved += waited
        absences.beat(now, starved)
    since, middle, until = sorted((first, second, now))
    whole = absences.missed(since, until)
    assert -1e-9 <= whole <= until - since + 1e-9
    if until <= now:  # else the next beat is due, and how much it will miss depends on when it comes
        assert absences.missed(since, middle) + absences.missed(middle, until) == pytest.approx(whole, abs=1e-6)
