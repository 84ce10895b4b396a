"""The page of reasons has a row for each reason, with its explanation."""

from __future__ import annotations

from balancer.zones.reasons import Reason
from tools.reasons_page import markdown


def test_the_page_has_one_row_for_each_reason_with_its_explanation() -> None:
    rows = [line.split(" | ") for line in markdown().splitlines() if line.startswith("| `")]
    assert [(row[0], row[-1]) for row in rows] == [(f"| `{each.value}`", f"{each.explanation} |") for each in Reason]
