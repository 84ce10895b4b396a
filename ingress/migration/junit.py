"""Writes a check as JUnit XML: one test case for each Ingress, which fails from a verdict on.

Does not know what the verdicts mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from ingress.findings import Finding, printable
from ingress.migration.verdicts import IngressOutcome, NameReview, Review, outcome_of

_LINE_LIMIT = 4000


def as_junit(review: Review, *, fail_on: IngressOutcome | None) -> str:
    """The check as one test suite. A case fails if its verdict is `fail_on` or more harmful; None: no case fails."""
    cases = [
        _case(f"Ingress {each.namespace}", each.name, each.verdict, _lines(each.annotations, each.remarks), fail_on)
        for each in review.ingresses
    ]
    if review.config_map.exists:
        each = review.config_map
        cases.append(_case("ConfigMap", each.name, each.verdict, _lines(each.keys, each.remarks), fail_on))
    for finding in review.others:
        place = "/".join(filter(None, (finding.namespace, finding.name)))
        cases.append(_case(finding.kind, place, outcome_of([finding]), _lines((), (finding,)), fail_on))
    failures = sum(case.find("failure") is not None for case in cases)
    suite = ElementTree.Element("testsuite", name="zonal check", tests=str(len(cases)), failures=str(failures))
    suite.extend(cases)
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    text: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return text.decode()


def _case(
    group: str, name: str, verdict: IngressOutcome, lines: list[str], fail_on: IngressOutcome | None
) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=group, name=name)
    text = "\n".join(printable(line, limit=_LINE_LIMIT) for line in lines)
    if fail_on is not None and verdict.harm >= fail_on.harm:
        failure = ElementTree.SubElement(case, "failure", message=verdict.value, type=verdict.value)
        failure.text = text
    else:
        said = ElementTree.SubElement(case, "system-out")
        said.text = "\n".join(filter(None, (verdict.value, text)))
    return case


def _lines(names: Sequence[NameReview], remarks: Sequence[Finding]) -> list[str]:
    lines = [f"{name.name}: {name.standing.value}{': ' if name.how else ''}{name.how}" for name in names]
    return [*lines, *(f"{finding.reason}: {finding.message} {finding.effect}" for finding in remarks)]
