"""One closed set of reason codes, each with one sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import balancer
from balancer.zones.reasons import Reason

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


def test_the_code_gives_every_reason() -> None:
    modules = (path for path in Path(balancer.__file__).parent.rglob("*.py") if path.stem != "reasons")
    sources = (path.read_text(encoding="utf-8") for path in modules)
    assert {name for text in sources for name in re.findall(r"\bReason\.([A-Z_]+)", text)} == {r.name for r in Reason}
