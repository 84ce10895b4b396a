"""Workers of one replica know of a zone what any of them saw, and go on from the latest step."""

from __future__ import annotations

import pytest

from balancer.sharing.zone_peers import PLACES, STATE_WORDS
from balancer.sharing.zone_table import ZONE_ROWS, ZoneTable
from balancer.zones.departure import DepartureStep
from balancer.zones.failures import FailureCount
from balancer.zones.judged import Beginning, JudgedZone


@pytest.fixture(scope="module")
def memory() -> bytearray:
    return bytearray(ZONE_ROWS.table_bytes(2))


@pytest.fixture
def pair(memory: bytearray, request: pytest.FixtureRequest) -> tuple[JudgedZone, JudgedZone]:
    """Two workers that are awake and know each other."""
    key = request.node.name
    one, two = (JudgedZone(ZoneTable(memory, start=0, seats=2, seat=seat).peers(key)) for seat in range(2))
    for zone in (one, two, one):
        zone.wake(1.0)
    for zone in (one, two):
        zone.pass_time(2.0, 3.0)
    return one, two


def leave(zone: JudgedZone, at: float) -> None:
    """The worker takes a first step, and tells it."""
    state = zone.departure.state._replace(stepped_at=at, since=at, level=1.0, step=2.0, direction=1.0)
    zone.departure.take_over(state, at)
    zone.begun = Beginning(at, FailureCount(20.0, 8.0), FailureCount(30.0, 0.0))
    zone.tell(at)


def test_all_count_what_one_saw_by_client(pair: tuple[JudgedZone, JudgedZone]) -> None:
    one, two = pair
    for number in range(60):
        one.note(failed=number % 2 == 0, seconds=0.01, place=number % PLACES)
    one.pass_time(0.1, 3.1)
    two.pass_time(0.1, 3.1)
    for zone in (one, two):
        assert zone.window.lately == pytest.approx((60.0, 30.0))
    assert two.window.quiet == pytest.approx(one.window.quiet)
    assert two.window.latency.seconds == pytest.approx(0.01)


def test_what_a_worker_read_late_is_no_latency_to_it(pair: tuple[JudgedZone, JudgedZone]) -> None:
    one, _ = pair
    one.note(failed=False, seconds=9.0, place=0)
    one.pass_time(0.1, 3.1, is_late=True)
    assert one.window.latency.count == 0.0


def test_a_run_without_failures_goes_on_with_the_answers_of_others(pair: tuple[JudgedZone, JudgedZone]) -> None:
    one, two = pair
    for zone, answers in ((one, 5), (two, 4)):
        for _ in range(answers):
            zone.note(failed=False, seconds=0.01, place=0)
    one.pass_time(0.1, 3.1)
    two.pass_time(0.1, 3.1)
    assert two.window.run == 9
    one.note(failed=True, seconds=0.01, place=0)
    one.pass_time(0.1, 3.2)
    two.pass_time(0.1, 3.2)
    assert two.window.run == 0


def test_of_what_others_saw_in_a_long_time_the_latest_counts(pair: tuple[JudgedZone, JudgedZone]) -> None:
    one, two = pair
    for _ in range(800):
        one.note(failed=True, seconds=0.01, place=0)
    one.pass_time(0.1, 42.9)
    two.pass_time(40.0, 43.0)
    assert two.window.lately.answers == pytest.approx(40.0)


def test_the_latest_step_is_taken_over_once_with_what_decided(pair: tuple[JudgedZone, JudgedZone]) -> None:
    one, two = pair
    leave(one, 5.0)
    two.pass_time(0.1, 5.1)
    assert two.takes_over(5.1)
    assert two.departure.step is DepartureStep.LEAVING
    assert two.departure.share == pytest.approx(0.1)
    assert two.begun == one.begun
    assert two.departure.state == one.departure.state
    two.tell(5.2)
    assert not two.takes_over(5.2) and not one.takes_over(5.2)


def test_an_older_step_is_not_taken_over(pair: tuple[JudgedZone, JudgedZone]) -> None:
    one, two = pair
    leave(one, 5.0)
    leave(two, 5.5)
    assert not two.takes_over(5.6)
    assert one.takes_over(5.6)


def test_what_was_taken_over_counts_as_heard_from_then_on(pair: tuple[JudgedZone, JudgedZone]) -> None:
    """A zone that was left long ago is not unheard of for a worker that has just come."""
    one, two = pair
    leave(one, 5.0)
    one.tell(99.0)
    two.wake(100.0)
    assert two.takes_over(100.0)
    assert (two.departure.since, two.departure.heard_from) == (5.0, 100.0)


def test_a_state_has_as_many_words_as_the_table_has_room_for(pair: tuple[JudgedZone, JudgedZone]) -> None:
    assert len((*pair[0].departure.state, *pair[0].begun.words)) == STATE_WORDS
