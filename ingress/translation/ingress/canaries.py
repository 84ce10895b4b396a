"""Puts the rules of a canary into the model, and checks whether they can be carried out.

Does not know to which path a canary belongs.
"""

from __future__ import annotations

from balancer.matching.regexes import pattern_problem
from balancer.model.routes import Canary
from ingress.findings import Report, Severity, quote
from ingress.settings.table.canaries import CanaryRules


def check_rules(rules: CanaryRules, report: Report) -> None:
    """Notes a pattern that is in force and cannot be searched. Its requests go to the main backend.

    As in ingress-nginx, where an error in the expression ends the decision.
    """
    pattern = rules.header_pattern
    if not pattern or not rules.header or rules.header_value:
        return
    problem = pattern_problem(pattern)
    if problem is not None:
        report.add(
            reason="InvalidValue",
            message=f"The canary's header pattern is {quote(pattern)}: {problem}.",
            severity=Severity.MISROUTED,
            effect="Requests with the header are served by the main backend.",
        )


def canary_of(rules: CanaryRules, *, follows_affinity: bool) -> Canary:
    """The rules of a canary in the model. `follows_affinity` as there."""
    return Canary(
        header=rules.header,
        header_value=rules.header_value,
        header_pattern=rules.header_pattern,
        cookie=rules.cookie,
        weight=rules.weight,
        weight_total=rules.weight_total,
        follows_affinity=follows_affinity,
    )
