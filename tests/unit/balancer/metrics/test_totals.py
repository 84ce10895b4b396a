"""What all tables hold is added up, series by series, whenever it is asked for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from balancer.metrics.slots import MINIMUM_BYTES, Key, SlotTable
from balancer.metrics.totals import Totals

ROOM = 64 * 1024
METRIC = 3


def taken(totals: Totals, *buffers: bytearray) -> dict[Key, float]:
    for _ in totals.take_up(buffers):
        pass
    return {series.key: series.value for series in totals.of(METRIC)}


def count(table: SlotTable, name: str, amount: float = 1.0) -> None:
    table.values[table.slot(Key(METRIC, (name,)))] += amount


COUNTS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abcd"), st.integers(1, 100)), max_size=30)


@given(st.lists(COUNTS, min_size=1, max_size=4))
def test_tables_are_added_up_however_often_they_were_asked_before(rounds: list[list[tuple[int, str, int]]]) -> None:
    buffers = [bytearray(ROOM) for _ in range(3)]
    tables, totals = [SlotTable(buffer) for buffer in buffers], Totals()
    expected: dict[Key, float] = {}
    for events in rounds:
        for number, name, amount in events:
            count(tables[number], name, amount)
            expected[Key(METRIC, (name,))] = expected.get(Key(METRIC, (name,)), 0) + amount
        assert taken(totals, *buffers) == expected


def test_all_slots_of_a_histogram_are_added_up() -> None:
    buffers, totals = [bytearray(ROOM) for _ in range(2)], Totals()
    for table in map(SlotTable, buffers):
        first = table.slot(Key(METRIC, ("a",)), 3)
        for number in range(3):
            table.values[first + number] += number + 1
    taken(totals, *buffers)
    (series,) = totals.of(METRIC)
    assert series.values == [2, 4, 6]


def test_a_buffer_may_get_its_table_later() -> None:
    buffer, totals = bytearray(ROOM), Totals()
    assert taken(totals, buffer) == {}
    count(SlotTable(buffer), "a")
    assert taken(totals, buffer) == {Key(METRIC, ("a",)): 1}


def test_a_table_that_another_writer_continues_is_not_counted_twice() -> None:
    buffer, totals = bytearray(ROOM), Totals()
    count(SlotTable(buffer), "a")
    assert taken(totals, buffer) == {Key(METRIC, ("a",)): 1}
    continued = SlotTable(buffer)
    count(continued, "a")
    count(continued, "b")
    assert taken(totals, buffer) == {Key(METRIC, ("a",)): 2, Key(METRIC, ("b",)): 1}


def test_two_who_take_up_at_the_same_time_count_everything_once() -> None:
    buffer, totals = bytearray(4 * 1024 * 1024), Totals()
    table = SlotTable(buffer)
    for number in range(2000):
        count(table, f"name-{number}")
    first, second = totals.take_up([buffer]), totals.take_up([buffer])
    turns = sum(1 for _ in zip(first, second, strict=False))
    assert turns > 1, "it gives way"
    assert len(taken(totals, buffer)) == 2000
    assert all(series.value == 1 for series in totals.of(METRIC))


def test_refusals_of_all_tables_are_added_up() -> None:
    buffers, totals = [bytearray(MINIMUM_BYTES) for _ in range(2)], Totals()
    for table in map(SlotTable, buffers):
        for number in range(100):
            count(table, f"name-{number}")
    taken(totals, *buffers)
    assert totals.refused > 100
