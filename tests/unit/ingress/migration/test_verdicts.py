"""Outcomes have an order, and a check has a summary of one line."""

from __future__ import annotations

import pytest

from ingress.findings import Finding, Severity
from ingress.migration.verdicts import ConfigMapReview, IngressOutcome, IngressReview, Review, outcome_of, worst

NOTHING = ConfigMapReview(name="a/b", exists=False)


def finding(severity: Severity) -> Finding:
    return Finding("Ingress", "shop", "web", "Reason", "Message.", "Effect.", severity)


def reviewed(*verdicts: IngressOutcome) -> Review:
    ingresses = (IngressReview(namespace="shop", name=f"web-{n}", verdict=each) for n, each in enumerate(verdicts))
    return Review(ingresses=tuple(ingresses), config_map=NOTHING)


def test_outcomes_come_from_the_least_to_the_most_harmful() -> None:
    assert [outcome.harm for outcome in IngressOutcome] == [0, 1, 2, 3, 4, 5]
    assert worst([IngressOutcome.DEGRADED, IngressOutcome.CLOSED, IngressOutcome.WORKS]) is IngressOutcome.CLOSED
    assert worst([]) is IngressOutcome.WORKS


@pytest.mark.parametrize("severity", Severity)
def test_the_outcome_of_a_finding_is_its_severity(severity: Severity) -> None:
    expected = IngressOutcome.WORKS if severity is Severity.COSMETIC else IngressOutcome(severity.value)
    assert outcome_of([finding(severity), finding(Severity.COSMETIC)]) is expected


@pytest.mark.parametrize(
    ("verdicts", "summary"),
    [
        ((), "0 of 0 Ingresses work as they are, 0 differ, 0 need you."),
        ((IngressOutcome.WORKS,), "1 of 1 Ingress works as they are, 0 differ, 0 need you."),
        (tuple(IngressOutcome), "1 of 6 Ingresses work as they are, 2 differ, 3 need you."),
    ],
)
def test_the_summary_counts_every_ingress_once(verdicts: tuple[IngressOutcome, ...], summary: str) -> None:
    assert reviewed(*verdicts).summary == summary


def test_the_worst_of_a_check_counts_the_configmap_and_other_objects() -> None:
    assert reviewed(IngressOutcome.DIFFERS).worst is IngressOutcome.DIFFERS
    closed = ConfigMapReview(name="a/b", exists=True, verdict=IngressOutcome.CLOSED)
    assert Review(ingresses=(), config_map=closed).worst is IngressOutcome.CLOSED
    assert (
        Review(ingresses=(), config_map=NOTHING, others=(finding(Severity.MISROUTED),)).worst
        is IngressOutcome.MISROUTED
    )
