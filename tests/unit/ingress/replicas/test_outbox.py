"""What is told next: what has changed since the last message that arrived, and now and then everything."""

from __future__ import annotations

from collections.abc import Iterator

from ingress.replicas.messages import ROWS_MOST, FailureRow, Picks, SpentRow
from ingress.replicas.outbox import FAR_SECONDS, NEAR_SECONDS, Outbox
from ingress.replicas.seen_columns import LOADS, SeenColumns, TellingColumns


def rows(outbox: Outbox, **totals: int) -> tuple[Picks, ...]:
    picks = {service: Picks(service, total) for service, total in totals.items()}
    return outbox.message(1, name="zonal-0", zone="zone-a", sections={"picks": picks}).picks


def test_only_changes_are_told_once_they_have_arrived() -> None:
    outbox = Outbox()
    assert rows(outbox, cart=1, pay=2) == (Picks("cart", 1), Picks("pay", 2))
    assert rows(outbox, cart=1, pay=2) == (Picks("cart", 1), Picks("pay", 2)), "the first message was lost"
    outbox.arrived()
    assert rows(outbox, cart=1, pay=3) == (Picks("pay", 3),)


def test_now_and_then_everything_is_told() -> None:
    outbox = Outbox()
    counts = []
    for _ in range(41):
        counts.append(len(rows(outbox, cart=1)))
        outbox.arrived()
    assert [number for number, count in enumerate(counts) if count] == [0, 20, 40]


def test_what_does_not_fit_comes_next() -> None:
    outbox, totals = Outbox(), {f"s{number}": 1 for number in range(ROWS_MOST + 1)}
    assert len(rows(outbox, **totals)) == ROWS_MOST
    outbox.arrived()
    assert len(rows(outbox, **totals)) == 1


def test_a_replica_of_the_own_zone_hears_more_often_and_everybody_at_first() -> None:
    outbox = Outbox()
    assert outbox.seconds < FAR_SECONDS
    for _ in range(3):
        rows(outbox, cart=1)
    assert outbox.seconds == FAR_SECONDS
    outbox.is_near = True
    assert outbox.seconds == NEAR_SECONDS
    assert outbox.message(9, name="zonal-0", zone="zone-a", sections={}).seconds == NEAR_SECONDS


def test_rows_that_are_the_same_object_are_not_compared_again() -> None:
    class Rows(dict[str, Picks]):
        looks = 0

        def __iter__(self) -> Iterator[str]:
            Rows.looks += 1
            return super().__iter__()

    outbox, rows = Outbox(), Rows(cart=Picks("cart", 1))
    for number in (1, 2, 3):
        told = outbox.message(number, name="", zone="", sections={"picks": rows})
        assert len(told.picks) == (number == 1)
        outbox.arrived()
    assert Rows.looks == 1


def test_what_clients_spent_is_told_at_once_and_only_once() -> None:
    outbox, row = Outbox(), SpentRow(1, 2, 5, 4)
    rows = {(1, 2): row}
    assert outbox.has_news("spent", rows)
    message = outbox.message(1, name="", zone="", sections={"spent": rows})
    assert message.spent == (row,)
    assert outbox.has_news("spent", rows), "it has not arrived"
    outbox.arrived()
    assert not outbox.has_news("spent", rows)
    assert outbox.has_news("spent", {(1, 2): SpentRow(1, 2, 6, 4)})
    assert outbox.message(2, name="", zone="", sections={"spent": rows}).spent == ()


def test_whoever_is_new_is_told_everything() -> None:
    outbox, row = Outbox(), FailureRow("shop/cart:80", "10.0.0.1:80", 2, False)
    rows(outbox, cart=1)
    outbox.arrived()
    wholes = {"failing": (row,), "away": False}
    assert outbox.message(2, name="", zone="", sections={}, wholes=wholes).failing == (row,)
    outbox.arrived()
    assert not outbox.has_whole_news(wholes)
    assert outbox.message(3, name="", zone="", sections={}, wholes=wholes).failing is None, "the same as before"
    assert outbox.has_whole_news({"failing": (row,), "away": True})
    outbox.arrived()
    outbox.forget()
    assert rows(outbox, cart=1) == (Picks("cart", 1),)
    assert outbox.has_whole_news(wholes)


def read(loads: TellingColumns, picks: float) -> None:
    loads.read(SeenColumns((7,), ([picks], *[[0.0]] * 5), ([0.1], [0.02])))


def test_tables_are_told_with_each_reading_once_and_again_if_they_did_not_arrive() -> None:
    outbox, loads = Outbox(), TellingColumns(LOADS)

    def has_table() -> bool:
        told = outbox.message(1, name="", zone="", sections={}, tables={"loads": loads})
        assert told.loads == ()
        return told.load_table is not None

    assert not has_table(), "nothing was read yet"
    read(loads, 1.0)
    assert has_table()
    assert has_table(), "the first message was lost"
    outbox.arrived()
    assert not has_table()
    read(loads, 1.0)
    assert not has_table(), "nothing has changed"
    outbox.arrived()
    assert not outbox.has_read({"loads": loads})
    read(loads, 2.0)
    assert outbox.has_read({"loads": loads})
    assert has_table()
    outbox.arrived()
    outbox.forget()
    assert has_table(), "whoever is new is told everything"


def test_a_replica_of_schema_1_is_told_rows() -> None:
    outbox, loads = Outbox(), TellingColumns(LOADS)
    read(loads, 3.0)
    told = outbox.message(1, name="", zone="", sections={}, tables={"loads": loads}, is_older=True)
    assert told.load_table is None
    assert [(row.tag, row.totals[0], row.state) for row in told.loads] == [(7, 3, (1000, 20_000))]
