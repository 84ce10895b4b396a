"""What workers saw, column by column: what is told next, how it goes on the wire, and what schema 1 makes of it."""

from __future__ import annotations

import math
import struct

import pytest

from ingress.replicas.messages import ROWS_MOST, MessageRefusal, MessageRefused, SeenRow, SeenTable
from ingress.replicas.seen_columns import (
    LOADS,
    SeenColumns,
    TellingColumns,
    columns_of,
    packed,
    rows_of,
    unpacked,
)


def seen(**picks: float) -> SeenColumns:
    """Things by their numbers (`t7`), with so many picks each."""
    tags = tuple(int(name[1:]) for name in picks)
    nothing = [0.0] * len(tags)
    return SeenColumns(tags, ([*picks.values()], *[nothing] * 5), ([0.25] * len(tags), [0.02] * len(tags)))


def told(telling: TellingColumns, edition: int) -> dict[int, float]:
    table = telling.table_since(edition)
    if table is None:
        return {}
    columns = unpacked(table)
    return dict(zip(columns.tags, columns.totals[0], strict=True))


def test_columns_come_as_they_were_sent() -> None:
    sent = seen(t7=3.0, t8=2.0**53)
    came = unpacked(packed(sent))
    assert came.tags == sent.tags
    assert [*map(list, (*came.totals, *came.state))] == [*map(list, (*sent.totals, *sent.state))]


def test_who_knows_the_last_reading_is_told_what_has_changed_and_everybody_else_all() -> None:
    telling = TellingColumns(LOADS)
    telling.read(seen(t7=1.0, t8=5.0, t9=0.0))
    assert told(telling, 0) == {7: 1.0, 8: 5.0}, "of the third thing there is nothing to tell"
    assert told(telling, 1) == {}, "the same reading"
    telling.read(seen(t7=2.0, t8=5.0, t9=0.0))
    assert told(telling, 1) == {7: 2.0}
    assert told(telling, 0) == {7: 2.0, 8: 5.0}
    telling.read(seen(t9=4.0, t7=2.0))
    assert told(telling, 2) == {9: 4.0}, "things come and go"
    assert told(telling, 1) == {9: 4.0, 7: 2.0}


def test_few_requests_are_told_with_each_second_reading_and_none_of_them_twice() -> None:
    telling = TellingColumns(LOADS)
    readings = [seen(t7=3.0, t8=20.0), seen(t7=6.0, t8=40.0), seen(t7=9.0, t8=60.0), seen(t7=9.0, t8=60.0)]
    news, known = [], 0
    for number, reading in enumerate(readings):
        telling.read(reading, least=16.0 * (number % 2))
        news.append(told(telling, known))
        known = telling.edition
    assert news == [{7: 3.0, 8: 20.0}, {8: 40.0}, {7: 9.0, 8: 60.0}, {}]
    assert known == 3, "without news nothing is new to anybody"
    assert told(telling, 0) == {7: 9.0, 8: 60.0}


def test_what_is_told_to_many_is_packed_once() -> None:
    telling = TellingColumns(LOADS)
    telling.read(seen(t7=1.0))
    assert telling.table_since(0) is telling.table_since(0)


def test_nothing_is_told_without_a_reading() -> None:
    telling = TellingColumns(LOADS)
    assert telling.table_since(0) is None
    telling.read(seen(t7=1.0))
    telling.forget()
    assert telling.table_since(1) is telling.table_since(0) is None
    assert telling.rows_since(1) == telling.rows_since(telling.edition) == ()
    telling.read(seen(t7=1.0))
    assert told(telling, telling.edition - 1) == {7: 1.0}


def test_of_more_things_than_a_message_may_have_others_come_with_each_reading() -> None:
    telling, came = TellingColumns(LOADS), set[int]()
    for turn in range(1, 4):
        telling.read(seen(**{f"t{tag}": float(turn) for tag in range(1, ROWS_MOST + 11)}))
        table = told(telling, telling.edition - 1)
        assert len(table) == ROWS_MOST
        came |= table.keys()
    assert len(came) == ROWS_MOST + 10


def words(kind: str, *values: float) -> bytes:
    return struct.pack(f"<{len(values)}{kind}", *values)


@pytest.mark.parametrize(
    "table",
    [
        SeenTable(b"", b""),
        SeenTable(b"\x01" * 7, words("d", 1.0)),
        SeenTable(words("Q", 0), words("d", 1.0)),
        SeenTable(words("Q", 2**52), words("d", 1.0)),
        SeenTable(words("Q", 2**64 - 1), words("d", 1.0)),
        SeenTable(words("Q", 7, 7), words("d", 1.0, 1.0)),
        SeenTable(words("Q", *range(1, ROWS_MOST + 2)), words("d", *[1.0] * (ROWS_MOST + 1))),
        SeenTable(words("Q", 7, 8), words("d", 1.0)),
        SeenTable(words("Q", 7), words("d", 1.0)[:5]),
        SeenTable(words("Q", 7), words("d", math.nan)),
        SeenTable(words("Q", 7), words("d", math.inf)),
        SeenTable(words("Q", 7), words("d", 1.7e308, 1.7e308)),
        SeenTable(words("Q", 7), words("d", -1.0)),
        SeenTable(words("Q", 7), words("d", 1.0), words("d", math.nan)),
        SeenTable(words("Q", 7), words("d", 1.0), words("d", -0.5)),
    ],
)
def test_what_makes_no_sense_is_refused(table: SeenTable) -> None:
    with pytest.raises(MessageRefused) as refused:
        unpacked(table)
    assert refused.value.refusal is MessageRefusal.MALFORMED


def test_schema_1_is_told_whole_numbers_and_understood() -> None:
    sent = SeenColumns(
        (7, 8),
        ([3.0, 4.0], [3.0, 4.0], [3.0, 4.0], [0.5, 0.25], [0.0, 0.0], [0.0, 0.0]),
        ([0.25, 0.0], [0.02, 0.0]),
    )
    rows = rows_of(sent, LOADS)
    assert rows == (
        SeenRow(7, (3, 3, 3, 500_000, 0, 0), (2500, 20_000)),
        SeenRow(8, (4, 4, 4, 250_000, 0, 0)),
    )
    came = columns_of(rows, LOADS)
    assert came.tags == sent.tags
    assert [*map(list, (*came.totals, *came.state))] == [*map(list, (*sent.totals, *sent.state))]


@pytest.mark.parametrize(
    "rows",
    [
        [SeenRow(7, (1,) * 7)],
        [SeenRow(7, (1,) * 6), SeenRow(8, (1,) * 33)],
        [SeenRow(7, (1,) * 6, (1,))],
        [SeenRow(7, (1,) * 6), SeenRow(7, (1,) * 6)],
    ],
)
def test_rows_of_schema_1_about_something_else_are_refused(rows: list[SeenRow]) -> None:
    with pytest.raises(MessageRefused):
        columns_of(rows, LOADS)


@pytest.mark.parametrize(
    ("news", "is_plausible"),
    [
        ((100, 100, 100, 10.0, 0, 0), True),
        ((101, 0, 0, 0, 0, 0), False),
        ((1, 1, 1, 10.0**8, 0, 0), False),
    ],
)
def test_more_requests_or_time_than_can_have_come_are_not_plausible(news: tuple[int, ...], is_plausible: bool) -> None:
    assert LOADS.are_plausible([[0, total] for total in news], 100) is is_plausible
