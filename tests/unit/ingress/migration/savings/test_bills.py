"""Which line of a bill it is."""

from __future__ import annotations

from ingress.cli.savings import savings
from ingress.migration.savings.bills import BILLS, lines_of


def test_every_cloud_of_the_command_has_a_line_and_a_price() -> None:
    option = next(param for param in savings.params if param.name == "cloud")
    assert set(getattr(option.type, "choices", ())) == set(BILLS)
    assert all(bill.line and bill.dollars_per_gigabyte >= 0.0 for bill in BILLS.values())


def test_an_unknown_cloud_gets_the_lines_of_all() -> None:
    assert lines_of("aws") == (f"On the bill: {BILLS['aws'].line}.",)
    assert lines_of("") == tuple(f"On the bill of {name}: {bill.line}." for name, bill in BILLS.items())
