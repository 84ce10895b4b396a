"""The documentation page of metrics is the one that is made from their table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from balancer.metrics.definitions import DEFINITIONS
from balancer.metrics.page import markdown

ROOT = Path(__file__).parents[4]


def test_the_documentation_page_is_the_one_made_from_the_table() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert page == markdown(), "run: python -m balancer.metrics.page > docs/metrics.md"


def test_the_page_has_a_row_for_each_metric() -> None:
    rows = [line for line in markdown().splitlines() if line.startswith("| `")]
    names = [row.split("`")[1] for row in rows]
    assert names[: len(DEFINITIONS)] == [each.name for each in DEFINITIONS]
    assert all(name.startswith("python_") for name in names[len(DEFINITIONS) :]), "and for those of prometheus-client"


def test_the_module_prints_the_page() -> None:
    command = [sys.executable, "-m", "balancer.metrics.page"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    assert printed.stdout.decode("utf-8") == markdown()
