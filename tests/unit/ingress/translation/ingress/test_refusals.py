"""Annotations that zonal does not support: what is closed, what is said, and what the operator may have ignored."""

from __future__ import annotations

import pytest

from ingress.findings import Finding, Findings, Severity
from ingress.objects.kinds import subject_of
from ingress.translation.ingress.refusals import Refusals, Refused, refuse
from tests.unit.ingress.cluster import ingress, rule


def refused(said: dict[str, str], *ignored: str) -> tuple[Refused, tuple[Finding, ...]]:
    findings = Findings()
    report = findings.about(subject_of(ingress("web", rule())))
    into = Refusals(ignored=frozenset(ignored), closed_effect="Closed.", report=report)
    return refuse(said, into=into), findings.frozen()


@pytest.mark.parametrize(
    "name",
    ["stream-snippet", "modsecurity-snippet", "auth-snippet"],
)
def test_what_protects_or_decides_who_answers_closes_the_paths(name: str) -> None:
    closed, (finding,) = refused({name: "x"})
    assert closed == Refused(paths=True)
    assert (finding.reason, finding.severity, finding.effect) == ("ClosedByAnnotation", Severity.CLOSED, "Closed.")
    words = (
        f"nginx.ingress.kubernetes.io/{name} is an ingress-nginx annotation that zonal does not support: without it, "
    )
    assert finding.message.startswith(words)


@pytest.mark.parametrize(
    ("name", "value"),
    [("enable-owasp-core-rules", "true"), ("enable-modsecurity", "true")],
)
def test_a_switch_closes_only_where_it_is_on(name: str, value: str) -> None:
    assert refused({name: value})[0].paths
    assert refused({name: "false"}) == (Refused(), ())


@pytest.mark.parametrize(
    ("name", "severity"), [("auth-snippet", Severity.UNPROTECTED), ("stream-snippet", Severity.MISROUTED)]
)
def test_what_the_operator_ignores_is_served_and_the_finding_says_what_that_means(
    name: str, severity: Severity
) -> None:
    closed, (finding,) = refused({name: "true"}, name)
    assert closed == Refused()
    assert (finding.reason, finding.severity) == ("IgnoredByOperator", severity)


@pytest.mark.parametrize("name", ["auth-something-new", "limit-something"])
def test_an_unknown_name_of_a_protective_family_closes(name: str) -> None:
    assert refused({name: "x"})[0].paths


@pytest.mark.parametrize("name", ["proxy-set-headers", "whitelist-source-ranges", "server-snipet"])
def test_no_name_is_judged_by_its_likeness(name: str) -> None:
    closed, (finding,) = refused({name: "x"})
    assert closed == Refused()
    assert (finding.reason, finding.severity) == ("UnknownAnnotation", Severity.DEGRADED)


def test_another_slip_is_asked_about() -> None:
    closed, (finding,) = refused({"proxy-bufering": "on"})
    assert closed == Refused()
    assert finding.message.endswith(' Did you mean "proxy-buffering"?')
    assert finding.severity is Severity.DEGRADED


def test_what_is_satisfied_by_design_is_no_finding() -> None:
    assert refused({"enable-modsecurity": "false", "proxy-buffer-size": "16k"}) == (Refused(), ())


def test_what_ingress_nginx_does_not_know_either_is_cosmetic() -> None:
    _, (finding,) = refused({"enable-websockets": "true"})
    assert finding.severity is Severity.COSMETIC


def test_thousands_of_unknown_names_are_compared_a_few_times() -> None:
    _, findings = refused({f"proxy-bufferin{number}": "x" for number in range(3000)})
    assert len(findings) <= 22
