"""A check as JUnit XML: one case for each Ingress, which fails from a verdict on."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from ingress.migration.junit import as_junit
from ingress.migration.verdicts import IngressOutcome
from tests.unit.ingress.migration.dumped import checked, nginx, settings


@pytest.mark.parametrize(
    ("fail_on", "failing"),
    [
        (IngressOutcome.DIFFERS, {"web", "late"}),
        (IngressOutcome.MISROUTED, {"late"}),
        (IngressOutcome.CLOSED, set()),
        (None, set()),
    ],
)
def test_a_case_fails_from_a_verdict_on(tmp_path: Path, fail_on: IngressOutcome | None, failing: set[str]) -> None:
    found = checked(
        tmp_path, nginx("web", affinity="cookie"), nginx("late", "/late", server_alias="~^a"), settings(keep_alive="60")
    )
    suite = ElementTree.fromstring(as_junit(found, fail_on=fail_on)).find("testsuite")
    assert suite is not None
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert {name for name, case in cases.items() if case.find("failure") is not None} == failing
    assert (suite.get("tests"), suite.get("failures")) == (str(len(cases)), str(len(failing)))
    assert cases["web"].get("classname") == "Ingress shop"
    assert any("affinity: differs" in (text or "") for text in cases["web"].itertext())


def test_a_name_of_a_tenant_cannot_break_the_document(tmp_path: Path) -> None:
    found = checked(tmp_path, nginx("web", configuration_snippet="]]>\x00<&\x1b"))
    assert (
        ElementTree.fromstring(as_junit(found, fail_on=IngressOutcome.CLOSED)).find("testsuite/testcase/failure")
        is not None
    )
