"""The control process reads and writes many rows at once, as `Talk` does one by one."""

from __future__ import annotations

import math

import pytest

from balancer.sharing.columns import Layer, RowReader, RowWriter
from balancer.sharing.rows import RowShape, RowTable, vacate_rows

SHAPE = RowShape(sets=64, state=1, totals=2)
SEATS = 3
KEYS = ("shop/cart:80", "shop/pay:80", "mail/smtp:25")


@pytest.fixture
def memory() -> bytearray:
    return bytearray(SHAPE.table_bytes(SEATS))


def table(memory: bytearray, seat: int) -> RowTable:
    return RowTable(memory, SHAPE, start=0, seats=SEATS, seat=seat, secret=b"s")


def reader(memory: bytearray) -> RowReader:
    control = table(memory, SEATS - 1)
    return RowReader(control, [control.place(key) for key in KEYS], ())


def layers_of(control: RowReader) -> list[Layer]:
    layers = control.read()
    assert layers is not None
    return layers


def test_what_each_process_adds_is_summed(memory: bytearray) -> None:
    control = reader(memory)
    one, two = ([table(memory, seat).talk(key) for key in KEYS] for seat in (0, 1))
    for talk in (*one, *two[:1]):
        talk.tell((0.5,), 1.0, (100.0, 100.0))
    layers = layers_of(control)
    assert control.columns == [[0.0] * 3] * 2, "what a row holds when it is found is no news"
    assert [[*layer.numbers] for layer in layers] == [[0, 1, 2], [0]]
    for number, talk in enumerate(one, 1):
        talk.tell((0.25,), 1.5, (number, 0.5))
    two[0].tell((0.75,), 1.75, (10.0, 0.0))
    layers = layers_of(control)
    assert [*map(list, control.columns)] == [[11.0, 2.0, 3.0], [0.5, 0.5, 0.5]]
    assert [[*layer.at] for layer in layers] == [[1.5] * 3, [1.75]]
    assert [[*layer.state[0]] for layer in layers] == [[0.25] * 3, [0.75]]
    control.read()
    assert [*map(list, control.columns)] == [[11.0, 2.0, 3.0], [0.5, 0.5, 0.5]], "once"


def test_a_row_that_makes_no_sense_is_ignored(memory: bytearray) -> None:
    control = reader(memory)
    talks = [table(memory, 0).talk(key) for key in KEYS]
    for talk in talks:
        talk.tell((0.5,), 1.0, (5.0, 5.0))
    control.read()
    for talk, news in zip(talks, ((math.nan, 1.0), (-1.0, 1.0), (2.0, 1.0)), strict=True):
        talk.tell((0.5,), 1.1, news)
    control.read()
    assert [*map(list, control.columns)] == [[0.0, 0.0, 2.0], [0.0, 0.0, 1.0]]


def test_a_process_that_is_gone_is_heard_no_longer_and_others_are(memory: bytearray) -> None:
    control = reader(memory)
    one, two = ([table(memory, seat).talk(key) for key in KEYS] for seat in (0, 1))
    for talk in (*one, *two):
        talk.tell((0.5,), 1.0, (1.0, 1.0))
    control.read()
    vacate_rows(memory, SHAPE, start=0, seats=SEATS, seat=0)
    for talk in two:
        talk.tell((0.5,), 1.1, (1.0, 1.0))
    assert [[*layer.numbers] for layer in layers_of(control)] == [[0, 1, 2]]
    assert [*map(list, control.columns)] == [[1.0] * 3] * 2


def test_who_was_not_known_is_found_at_once(memory: bytearray) -> None:
    control = reader(memory)
    assert control.read() == []
    one, other = (table(memory, seat).talk(KEYS[1]) for seat in (0, 1))
    for talk, layers in ((one, 1), (other, 2)):
        talk.tell((0.5,), 1.1, (1.0, 1.0))
        assert [[*layer.numbers] for layer in layers_of(control)] == [[1]] * layers
    one.tell((0.5,), 2.1, (3.0, 4.0))
    control.read()
    assert [*map(list, control.columns)] == [[0.0, 3.0, 0.0], [0.0, 4.0, 0.0]]


def test_what_another_thing_had_in_a_row_is_not_what_the_new_one_has(memory: bytearray) -> None:
    """Both have one set, and one process has one row there after the other."""
    shape = SHAPE._replace(sets=1)
    one, control = (RowTable(memory, shape, start=0, seats=2, seat=seat) for seat in (0, 1))
    reading = RowReader(control, [control.place(key) for key in KEYS[:2]], ())
    one.talk(KEYS[0]).tell((0.5,), 1.0, (5.0, 5.0))
    reading.read()
    vacate_rows(memory, shape, start=0, seats=2, seat=0)
    one.talk(KEYS[1]).tell((0.5,), 1.0, (9.0, 9.0))
    reading.read()
    assert [*map(list, reading.columns)] == [[0.0, 0.0]] * 2, "what a row holds when it is found is no news"


def test_nothing_is_taken_before_something_has_grown_by_enough(memory: bytearray) -> None:
    control = reader(memory)
    talks = [table(memory, seat).talk(KEYS[0]) for seat in (0, 1)]
    for talk in talks:
        talk.tell((0.5,), 1.0, (0.0, 0.0))
    control.read()
    for count, total in ((2.0, 0.0), (1.0, 0.0), (2.0, 10.0)):
        for talk in talks:
            talk.tell((0.5,), 1.0, (count, 0.0))
        control.read(least=10.0)
        assert control.columns[0][0] == total
    talks[0].tell((0.5,), 1.0, (1.0, 0.0))
    control.read()
    assert control.columns[0][0] == 11.0


def test_what_is_written_at_once_is_heard_by_each(memory: bytearray) -> None:
    writing, hearing = table(memory, 0), [table(memory, 1).talk(key) for key in KEYS]
    writer = RowWriter([writing.talk(key) for key in KEYS], writing)
    writer.hold([[0.1, 0.2, 0.3]])
    writer.tell(1.0, [[0.0] * 3] * 2)
    for talk in hearing:
        talk.hear(1.0)
    writer.tell(1.1, [[1.0, 2.0, 3.0], [0.5] * 3])
    assert [talk.hear(1.2) for talk in hearing] == [[1.0, 0.5], [2.0, 0.5], [3.0, 0.5]]
    assert [talk.states() for talk in hearing] == [[(1.1, [state])] for state in (0.1, 0.2, 0.3)]


def test_a_row_that_another_thing_has_taken_is_not_written(memory: bytearray) -> None:
    writing = table(memory, 0)
    writer = RowWriter([writing.talk(KEYS[0])], writing)
    writer.tell(1.0, [[1.0], [1.0]])
    vacate_rows(memory, SHAPE, start=0, seats=SEATS, seat=0)
    [row] = writing.others_about(writing.place(KEYS[0])) or [None]
    assert row is None
    writer.tell(1.1, [[2.0], [2.0]])
    heard = table(memory, 1).talk(KEYS[0])
    heard.hear(1.1)
    assert heard.states() == [(1.1, [0.0])], "it has a row again"
