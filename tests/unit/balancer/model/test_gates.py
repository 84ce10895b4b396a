"""Rules of gates come in the order of their phases."""

from __future__ import annotations

from typing import get_args

from balancer.model.gates import PHASES, GateRule, SourceRanges, in_phases
from balancer.model.redirects import HttpsRedirect


def test_every_kind_of_rule_has_a_phase() -> None:
    assert set(PHASES) == set(get_args(GateRule))
    assert len(PHASES) == len(set(PHASES))


def test_redirects_come_before_checks_and_rules_of_a_kind_keep_their_order() -> None:
    first, second = SourceRanges(("10.0.0.0/8",)), SourceRanges(denied=("10.0.0.1/32",))
    assert in_phases((second, first, HttpsRedirect())) == (HttpsRedirect(), second, first)
