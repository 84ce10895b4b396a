"""Snippets of an Ingress: allowed by the operator, carried out as a whole, or closing with the line that does it."""

from __future__ import annotations

import pytest

from balancer.model.scripts import FieldBeside
from ingress.findings import Finding, Findings, Severity
from ingress.objects.kinds import subject_of
from ingress.settings.snippets.levels import Level
from ingress.settings.table.annotation_policy import AnnotationPolicy, Risk
from ingress.settings.table.snippets import SnippetTexts
from ingress.translation.ingress.snippets import OwnSnippets, read_snippets
from tests.unit.ingress.cluster import ingress, rule

ALLOWED = AnnotationPolicy(most_risk=Risk.CRITICAL, permits_snippets=True)


def read(
    texts: SnippetTexts, policy: AnnotationPolicy = ALLOWED, *ignored: str
) -> tuple[OwnSnippets, tuple[Finding, ...]]:
    findings = Findings()
    report = findings.about(subject_of(ingress("web", rule())))
    return read_snippets(texts, policy, ignored=ignored, closed_effect="Closed.", report=report), findings.frozen()


def test_both_snippets_are_read() -> None:
    found, findings = read(SnippetTexts("add_header X-A 1;", "deny all;"))
    assert findings == ()
    assert found.location.fields.beside == (FieldBeside("X-A", "1"),)
    assert found.server is not None and found.server.access is not None
    assert read(SnippetTexts(" "))[0] == OwnSnippets()


@pytest.mark.parametrize(
    "policy", [AnnotationPolicy(), AnnotationPolicy(most_risk=Risk.CRITICAL), AnnotationPolicy(permits_snippets=True)]
)
def test_an_operator_who_does_not_allow_them_closes(policy: AnnotationPolicy) -> None:
    found, (finding,) = read(SnippetTexts("add_header X-A 1;"), policy)
    assert found == OwnSnippets(is_refused=True)
    assert (finding.reason, finding.severity, finding.effect) == ("ClosedByAnnotation", Severity.CLOSED, "Closed.")
    assert (
        'To be served, set allow-snippet-annotations to "true" and annotations-risk-level to Critical'
        in finding.message
    )


def test_a_line_closes_and_the_operator_may_ignore_that() -> None:
    texts = SnippetTexts(server="deny all;\nproxy_pass http://a;")
    found, (finding,) = read(texts)
    assert found == OwnSnippets(is_refused=True)
    assert "server-snippet, line 2: proxy_pass is not carried out" in finding.message
    assert "To be served, name the Service in an Ingress of its own." in finding.message
    found, (finding,) = read(texts, ALLOWED, "server-snippet")
    assert found == OwnSnippets()
    assert (finding.reason, finding.severity) == ("IgnoredByOperator", Severity.UNPROTECTED)


def test_a_useless_line_is_said() -> None:
    found, (finding,) = read(SnippetTexts(server="proxy_set_header X-A 1;"))
    assert found.server is not None and found.server.is_empty
    assert found.location == Level()
    assert (finding.reason, finding.severity) == ("SnippetLineUseless", Severity.COSMETIC)
