"""Findings are bounded, escaped, unique and sorted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ingress.findings import ALIKE_LIMIT, MESSAGE_LIMIT, QUOTED_LIMIT, Findings, Subject, printable, quote

WEB = Subject("Ingress", "shop", "web")


def test_the_same_finding_counts_once_and_all_are_sorted() -> None:
    findings = Findings()
    findings.about(WEB).add(reason="B", message="Second.", effect="None.")
    findings.add(WEB, reason="A", message="First.", effect="None.")
    findings.add(WEB, reason="B", message="Second.", effect="None.")
    assert [finding.reason for finding in findings.frozen()] == ["A", "B"]


def test_of_many_alike_the_first_are_kept_and_one_that_says_so() -> None:
    findings = Findings()
    for number in (*range(ALIKE_LIMIT), *range(ALIKE_LIMIT)):
        findings.add(WEB, reason="A", message=f"{number}.", effect="None.")
    assert len(findings.frozen()) == ALIKE_LIMIT
    for number in range(10_000):
        findings.add(WEB, reason="A", message=f"{number}.", effect="None.")
    findings.add(WEB, reason="B", message="Another.", effect="None.")
    findings.add(Subject("Ingress", "shop", "other"), reason="A", message="Another.", effect="None.")
    messages = [finding.message for finding in findings.frozen()]
    assert set(messages) == {
        *(f"{number}." for number in range(ALIKE_LIMIT)),
        "There is more of this kind: correct what is listed first.",
        "Another.",
    }
    assert len(messages) == ALIKE_LIMIT + 3


def test_findings_made_elsewhere_join() -> None:
    first, second = Findings(), Findings()
    first.add(WEB, reason="A", message="First.", effect="None.")
    second.extend(first.frozen())
    assert second.frozen() == first.frozen()


def test_control_characters_and_line_breaks_are_escaped() -> None:
    assert quote("a\r\nb\x00\ud800") == '"a\\r\\nb\\x00\\ud800"'


def test_ordinary_text_is_left_alone() -> None:
    assert quote("/café?x=1") == '"/café?x=1"'


@given(st.text(max_size=500))
def test_quoted_text_is_always_short_and_printable(text: str) -> None:
    quoted = quote(text)
    assert len(quoted) <= QUOTED_LIMIT + 2
    assert quoted.isprintable()


@given(st.text(alphabet=st.characters(), max_size=50), st.integers(1, 60))
def test_printable_never_exceeds_its_limit(text: str, limit: int) -> None:
    assert len(printable(text, limit=limit)) <= limit


def test_messages_and_names_are_bounded_as_well() -> None:
    findings = Findings()
    findings.add(Subject("File", "", "\n" * 5000), reason="A", message="x" * 5000, effect="None.")
    (finding,) = findings.frozen()
    assert len(finding.message) == MESSAGE_LIMIT
    assert len(finding.name) <= 253
    assert finding.name.isprintable()
