"""New findings are logged by harm, each severity with lines of its own, and findings that are over as resolved."""

from __future__ import annotations

import logging

import msgspec
import pytest

from ingress.findings import Finding, Severity
from ingress.following.finding_log import LINES_OF_A_SEVERITY, log_findings


def finding(number: int = 0, severity: Severity = Severity.CLOSED, message: str = "It is wrong.") -> Finding:
    return Finding("Ingress", "shop", f"web-{number:03}", "InvalidIngress", message, "It is not served.", severity)


def lines(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == level]


def test_a_new_finding_is_one_warning_and_one_that_stays_is_none(caplog: pytest.LogCaptureFixture) -> None:
    log_findings([finding(0)], [finding(0), finding(1)])
    expected = "closed: Ingress shop/web-001: InvalidIngress: It is wrong. (It is not served.)"
    assert lines(caplog, logging.WARNING) == [expected]


@pytest.mark.parametrize("beyond", [0, 1, 30])
def test_a_flood_is_so_many_lines_and_how_many_more_there_are(caplog: pytest.LogCaptureFixture, beyond: int) -> None:
    log_findings([], [finding(number) for number in range(LINES_OF_A_SEVERITY + beyond)])
    warnings = lines(caplog, logging.WARNING)
    assert [f"web-{number:03}" in line for number, line in enumerate(warnings[:20])] == [True] * 20
    more = [f"closed: … and {beyond} more findings; see /debug/findings"] if beyond else []
    assert warnings[20:] == more


def test_a_flood_of_harmless_findings_hides_no_harmful_one(caplog: pytest.LogCaptureFixture) -> None:
    harmless = [finding(number, Severity.COSMETIC) for number in range(500)]
    log_findings([], [*harmless, finding(999, Severity.UNPROTECTED)])
    warnings = lines(caplog, logging.WARNING)
    assert warnings[0].startswith("unprotected: Ingress shop/web-999: ")
    assert len(warnings) == 1 + LINES_OF_A_SEVERITY + 1


def test_a_finding_that_is_over_is_logged_as_resolved(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log_findings([finding()], [])
    assert lines(caplog, logging.INFO) == ["resolved: Ingress shop/web-000: InvalidIngress: It is wrong."]


def test_a_finding_that_says_something_else_now_is_not_resolved(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log_findings([finding(message="One is wrong.")], [finding(message="Two are wrong.")])
    assert lines(caplog, logging.INFO) == []
    assert len(lines(caplog, logging.WARNING)) == 1


def test_many_findings_that_are_over_are_a_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log_findings([finding(number) for number in range(1000)], [])
    resolved = lines(caplog, logging.INFO)
    assert len(resolved) == LINES_OF_A_SEVERITY + 1
    assert resolved[-1] == "resolved: … and 980 more findings"


def test_a_flood_of_one_namespace_hides_no_finding_of_another(caplog: pytest.LogCaptureFixture) -> None:
    flood = [msgspec.structs.replace(finding(number), namespace="aaa") for number in range(500)]
    with caplog.at_level(logging.INFO):
        log_findings([], [*flood, finding(1)])
        log_findings([*flood, finding(1)], [])
    for level in (logging.WARNING, logging.INFO):
        shown = lines(caplog, level)
        assert len(shown) == LINES_OF_A_SEVERITY + 1
        assert sum("shop/web-001" in line for line in shown) == 1
