"""What has grown in counter tables since the last look."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from balancer.metrics.increments import Increments
from balancer.metrics.slots import Key, SlotTable
from balancer.metrics.totals import Totals

ROOM = 256 * 1024
METRIC = 3
WIDTH = 5

COUNTS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, WIDTH - 1)), max_size=60)


def key(number: int) -> Key:
    return Key(METRIC, (f"name-{number}",))


def grown(increments: Increments, *buffers: bytearray) -> dict[tuple[Key, int], float]:
    found: dict[tuple[Key, int], float] = defaultdict(float)
    for batch in increments.look(buffers):
        for each in batch:
            found[each.key, each.offset] += each.amount
    return dict(found)


@given(st.lists(COUNTS, min_size=1, max_size=4))
def test_each_look_finds_what_was_counted_since_the_one_before(rounds: list[list[tuple[int, int, int]]]) -> None:
    buffers = [bytearray(ROOM) for _ in range(3)]
    tables, increments = [SlotTable(buffer) for buffer in buffers], Increments(Totals())
    for events in rounds:
        expected: dict[tuple[Key, int], float] = defaultdict(float)
        for number, name, offset in events:
            tables[number].values[tables[number].slot(key(name), WIDTH) + offset] += 1
            expected[key(name), offset] += 1
        assert grown(increments, *buffers) == expected
        assert grown(increments, *buffers) == {}


def test_a_buffer_may_get_its_table_later() -> None:
    buffer, increments = bytearray(ROOM), Increments(Totals())
    assert grown(increments, buffer) == {}
    table = SlotTable(buffer)
    table.values[table.slot(key(1))] += 2
    assert grown(increments, buffer) == {(key(1), 0): 2}


def test_whoever_shares_the_totals_takes_nothing_away() -> None:
    buffer, totals = bytearray(ROOM), Totals()
    increments, table = Increments(totals), SlotTable(buffer)
    table.values[table.slot(key(1))] += 2
    for _ in totals.take_up([buffer]):
        pass
    assert grown(increments, buffer) == {(key(1), 0): 2}
    assert [series.value for series in totals.of(METRIC)] == [2]
