"""The page of metrics has a row for each metric."""

from __future__ import annotations

from balancer.metrics.definitions import DEFINITIONS
from tools.metrics_page import markdown


def test_the_page_has_a_row_for_each_metric() -> None:
    rows = [line for line in markdown().splitlines() if line.startswith("| `")]
    names = [row.split("`")[1] for row in rows]
    assert names[: len(DEFINITIONS)] == [each.name for each in DEFINITIONS]
    assert all(name.startswith("python_") for name in names[len(DEFINITIONS) :]), "and for those of prometheus-client"
