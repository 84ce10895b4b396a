"""Requests in flight: counted together by several processes, and dropped with a process that is gone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from balancer.sharing.flight_table import FlightTable, flight_table_bytes, vacate_flights
from balancer.sharing.guards import Unguarded

SEATS = 3


class Processes:
    """A table of one set, and how processes see it."""

    def __init__(self) -> None:
        self.buffer = bytearray(flight_table_bytes(sets=1, seats=SEATS))

    def at(self, seat: int) -> FlightTable:
        return FlightTable(self.buffer, start=0, sets=1, seats=SEATS, seat=seat, guard=Unguarded())


def test_all_processes_count_together() -> None:
    processes = Processes()
    first, second = processes.at(0), processes.at(1)
    place = first.enter(7, 2)
    assert place is not None
    assert second.enter(7, 2) is not None
    assert first.enter(7, 2) is None
    assert second.enter(8, 2) is not None
    first.leave(place)
    assert second.enter(7, 2) is not None
    assert second.enter(7, 2) is None


def test_what_a_process_counted_goes_with_it() -> None:
    processes = Processes()
    for _ in range(5):
        assert processes.at(0).enter(7, 9) is not None
    assert processes.at(1).enter(7, 6) is not None
    assert processes.at(1).enter(7, 6) is None
    vacate_flights(processes.buffer, 0, 0)
    assert processes.at(1).enter(7, 2) is not None
    successor = processes.at(0)
    place = successor.enter(7, 3)
    assert place is not None
    assert successor.enter(7, 3) is None
    successor.leave(place)
    assert successor.enter(7, 3) is not None


def test_a_seat_may_be_given_away_as_often_as_workers_end() -> None:
    processes = Processes()
    for _ in range(2**16 + 3):
        vacate_flights(processes.buffer, 0, 1)
    assert processes.at(1).enter(7, 1) is not None
    assert processes.at(0).enter(7, 1) is None


def test_keys_without_a_slot_of_their_own_count_together() -> None:
    table = Processes().at(0)
    for key in range(1, 9):
        assert table.enter(key, 1) is not None
    assert table.enter(9, 1) is None
    place = table.enter(9, 2)
    assert place is not None
    table.leave(place)
    assert table.enter(10, 2) is not None
    assert table.enter(11, 2) is None


def test_slots_without_requests_make_room() -> None:
    table = Processes().at(0)
    for key in range(1, 100):
        place = table.enter(key, 1)
        assert place is not None
        table.leave(place)


STEPS = st.lists(st.tuples(st.integers(0, SEATS - 1), st.integers(1, 6), st.booleans()), max_size=120)


@given(STEPS, st.integers(1, 4))
def test_never_more_are_in_flight_than_may_be(steps: list[tuple[int, int, bool]], most: int) -> None:
    processes = Processes()
    tables = [processes.at(seat) for seat in range(SEATS)]
    under_way: list[tuple[int, int, int]] = []
    for seat, key, ends in steps:
        if ends and under_way:
            ended_seat, _, place = under_way.pop(0)
            tables[ended_seat].leave(place)
        before = sum(1 for _, other, _ in under_way if other == key)
        entered = tables[seat].enter(key, most)
        assert (entered is not None) is (before < most)
        if entered is not None:
            under_way.append((seat, key, entered))
