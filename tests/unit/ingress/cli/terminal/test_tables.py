"""Tables as lines: columns line up, and no text leaves its cell."""

from __future__ import annotations

from ingress.cli.terminal.tables import Column, Row, fitted, lines, table


def test_columns_are_as_wide_as_their_widest_cell_and_numbers_stand_right() -> None:
    made = table(
        (Column("name"), Column("count", is_number=True)), [Row(("a", "7")), Row(("longer", "1234567"), ("a note",))]
    )
    assert list(lines(made)) == ["NAME      COUNT", "a             7", "longer  1234567", "    a note"]


def test_a_table_without_rows_is_its_head() -> None:
    assert list(lines(table((Column("a"), Column("b")), []))) == ["A  B"]


def test_text_of_tenants_stays_text_on_its_line() -> None:
    hostile = "\x1b[31mred\x1b[0m\nnext\u202ereversed\x9b5m"
    (_, line) = lines(table((Column("name"),), [Row((hostile,))]))
    assert line == r"\x1b[31mred\x1b[0m\nnext\u202ereversed\x9b5m"
    (_, _, note) = lines(table((Column("name"),), [Row(("a",), ("x" * 5000 + "\r",))]))
    assert len(note) < 700


def test_columns_that_can_be_spared_go_until_the_rest_fits() -> None:
    columns = (Column("name"), Column("often", spare=1), Column("seldom", spare=2), Column("count", is_number=True))
    made = table(columns, [Row(("a", "b", "c", "1"), ("a note",))])
    assert list(lines(fitted(made, 100))) == list(lines(made))
    assert next(lines(fitted(made, 20))) == "NAME  OFTEN  COUNT"
    assert list(lines(fitted(made, 12))) == ["NAME  COUNT", "a         1", "    a note"]
    assert next(lines(fitted(made, 3))) == "NAME  COUNT"
