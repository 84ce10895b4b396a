"""Findings are bounded, escaped, unique and sorted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.findings import (
    ALIKE_LIMIT,
    MESSAGE_LIMIT,
    QUOTED_LIMIT,
    Finding,
    Findings,
    Severity,
    Subject,
    holds,
    most_harmful_first,
    printable,
    quote,
    with_changes,
)

WEB = Subject("Ingress", "shop", "web")


def test_the_same_finding_counts_once_and_all_are_sorted() -> None:
    findings = Findings()
    findings.about(WEB).add(reason="B", message="Second.", effect="None.", severity=Severity.DEGRADED)
    findings.add(WEB, reason="A", message="First.", effect="None.", severity=Severity.DEGRADED)
    findings.add(WEB, reason="B", message="Second.", effect="None.", severity=Severity.DEGRADED)
    assert [finding.reason for finding in findings.frozen()] == ["A", "B"]


def test_of_many_alike_the_first_are_kept_and_one_that_says_so() -> None:
    findings = Findings()
    for number in (*range(ALIKE_LIMIT), *range(ALIKE_LIMIT)):
        findings.add(WEB, reason="A", message=f"{number}.", effect="None.", severity=Severity.DEGRADED)
    assert len(findings.frozen()) == ALIKE_LIMIT
    for number in range(10_000):
        findings.add(WEB, reason="A", message=f"{number}.", effect="None.", severity=Severity.DEGRADED)
    findings.add(WEB, reason="B", message="Another.", effect="None.", severity=Severity.DEGRADED)
    findings.add(
        Subject("Ingress", "shop", "other"), reason="A", message="Another.", effect="None.", severity=Severity.DEGRADED
    )
    messages = [finding.message for finding in findings.frozen()]
    assert set(messages) == {
        *(f"{number}." for number in range(ALIKE_LIMIT)),
        "There is more of this kind: correct what is listed first.",
        "Another.",
    }
    assert len(messages) == ALIKE_LIMIT + 3


def test_the_most_harmful_finding_comes_first() -> None:
    findings = Findings()
    for severity in reversed(Severity):
        findings.add(WEB, reason="A", message=f"{severity.value}.", effect="None.", severity=severity)
    assert [finding.severity for finding in findings.frozen()] == list(Severity)


def test_many_harmless_findings_do_not_hide_a_harmful_one() -> None:
    findings = Findings()
    for number in range(100):
        findings.add(WEB, reason="A", message=f"{number}.", effect="None.", severity=Severity.COSMETIC)
    findings.add(WEB, reason="A", message="No host.", effect="None.", severity=Severity.CLOSED)
    assert findings.frozen()[0].message == "No host."


def test_findings_made_elsewhere_join() -> None:
    first, second = Findings(), Findings()
    first.add(WEB, reason="A", message="First.", effect="None.", severity=Severity.DEGRADED)
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
    findings.add(
        Subject("File", "", "\n" * 5000), reason="A", message="x" * 5000, effect="None.", severity=Severity.DEGRADED
    )
    (finding,) = findings.frozen()
    assert len(finding.message) == MESSAGE_LIMIT
    assert len(finding.name) <= 253
    assert finding.name.isprintable()


class Counting(str):
    """A name that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __lt__(self, other: str) -> bool:
        Counting.compared += 1
        return str.__lt__(self, other)


def counted(name: str) -> Finding:
    return Finding("Service", "shop", Counting(name), "NoReadyEndpoint", "m", "e", Severity.CLOSED)


names = st.frozensets(st.text("abc", min_size=1, max_size=3))


@given(names, names, names)
def test_changes_leave_the_order_that_sorting_gives(
    before: frozenset[str], gone: frozenset[str], new: frozenset[str]
) -> None:
    ordered = most_harmful_first(map(counted, before))
    changed = with_changes(ordered, gone=map(counted, gone), new=map(counted, new))
    assert changed == most_harmful_first(map(counted, before - gone | new))
    assert {name for name in before | new | gone if holds(changed, counted(name))} == before - gone | new


@pytest.mark.large
def test_one_change_among_many_findings_does_not_sort_them_again() -> None:
    ordered = most_harmful_first(counted(f"{number:05}") for number in range(10_000))
    Counting.compared = 0
    with_changes(ordered, gone=[counted("00007")], new=[counted("07000x")])
    assert 0 < Counting.compared < 200
