"""One closed set of reason codes, each with one sentence; the documentation page is made from them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from balancer.zones.reasons import Reason, markdown

ROOT = Path(__file__).parents[4]

CODES = """
    off own_zone_unknown no_hints hint_missing_on_ready_endpoint zone_not_hinted zone_local node_local zone_hinted
    zone_empty below_min_endpoints below_min_percent too_few_zones too_few_endpoints allocation_infeasible
    proportional_local proportional_residual ordered_match ordered_none spill_load spill_health spill_budget_exhausted
    spill_errors
    affinity_override zone_allocated node_info_incomplete own_replicas_unknown panic terminating_last_resort
    retry_other_zone drained_zone rollout_excluded
"""


def test_the_codes_are_those_that_dashboards_and_alerts_rely_on() -> None:
    assert {reason.value for reason in Reason} == set(CODES.split())


@pytest.mark.parametrize("reason", Reason, ids=lambda reason: reason.value)
def test_the_code_is_the_name_and_the_explanation_is_one_sentence(reason: Reason) -> None:
    assert reason.value == reason.name.lower()
    assert reason.explanation[0].isupper()
    assert reason.explanation.endswith(".")
    assert ". " not in reason.explanation


def test_no_two_reasons_mean_the_same() -> None:
    assert len({reason.explanation for reason in Reason}) == len(Reason)


def test_the_documentation_page_is_the_one_made_from_the_reasons() -> None:
    page = (ROOT / "docs" / "reasons.md").read_text(encoding="utf-8")
    assert page == markdown(), "run: python -m balancer.zones.reasons > docs/reasons.md"


def test_the_page_has_one_row_for_each_reason_with_its_explanation() -> None:
    rows = [line.split(" | ") for line in markdown().splitlines() if line.startswith("| `")]
    assert [(row[0], row[-1]) for row in rows] == [(f"| `{each.value}`", f"{each.explanation} |") for each in Reason]


def test_the_code_gives_every_reason() -> None:
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "balancer").rglob("*.py") if path.stem != "reasons")
    assert {name for text in sources for name in re.findall(r"\bReason\.([A-Z_]+)", text)} == {r.name for r in Reason}


def test_the_module_prints_the_page() -> None:
    command = [sys.executable, "-m", "balancer.zones.reasons"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    assert printed.stdout.decode("utf-8") == markdown()
