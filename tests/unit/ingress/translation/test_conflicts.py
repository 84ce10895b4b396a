"""The oldest claim wins, whatever the order of arrival."""

from __future__ import annotations

from itertools import permutations

import pytest

from balancer.model import PathKind
from ingress.findings import Finding, Findings
from ingress.objects import Ingress, IngressTls, subject_of
from ingress.settings import ClusterSettings
from ingress.translation.annotations import read_ingress_annotations
from ingress.translation.conflicts import Candidate, SettledHost, by_seniority, covering, settle
from ingress.translation.ingresses import read_claims
from tests.unit.ingress.cluster import backend, ingress, path, reasons, rule

YOUNG, OLD = "2024-02-01T00:00:00Z", "2024-01-01T00:00:00Z"


def settled(*ingresses: Ingress) -> tuple[dict[str, SettledHost], tuple[Finding, ...]]:
    findings = Findings()
    return settle([candidate(item) for item in by_seniority(ingresses)], findings), findings.frozen()


def candidate(item: Ingress) -> Candidate:
    report = Findings().about(subject_of(item))
    claims = read_claims(item, report)
    assert claims is not None
    return Candidate(item, claims, read_ingress_annotations(item, ClusterSettings(), report=report))


def winner(hosts: dict[str, SettledHost], host: str, text: str, kind: PathKind = PathKind.PREFIX) -> str:
    return hosts[host].paths[text, kind][1].ingress.metadata.name


def names(ingresses: list[Ingress]) -> list[str]:
    return [item.metadata.name for item in ingresses]


@pytest.mark.parametrize("order", list(permutations(range(5))))
def test_seniority_is_age_then_name_descending_then_the_order_of_the_folder(order: tuple[int, ...]) -> None:
    everything = [
        ingress("c", created=OLD),
        ingress("b", created=YOUNG),
        ingress("a", created=YOUNG),
        ingress("z", created="", sequence=1),
        ingress("y", created="", sequence=2),
    ]
    assert names(by_seniority(everything[index] for index in order)) == ["c", "b", "a", "z", "y"]


def test_timestamps_are_compared_as_moments() -> None:
    berlin, utc = ingress("b", created="2024-01-01T01:30:00+02:00"), ingress("a", created="2024-01-01T00:00:00Z")
    bare = ingress("c", created="2024-01-01T00:30:00")
    assert names(by_seniority([bare, utc, berlin])) == ["b", "a", "c"]


def test_a_timestamp_that_is_none_counts_as_absent() -> None:
    assert names(by_seniority([ingress("a", created="yesterday"), ingress("b", created=YOUNG)])) == ["b", "a"]


def test_the_namespace_counts_before_the_name() -> None:
    assert names(by_seniority([ingress("a", namespace="n2"), ingress("b", namespace="n1")])) == ["a", "b"]


def test_the_loser_of_a_path_gets_a_finding_and_keeps_its_other_paths() -> None:
    hosts, findings = settled(
        ingress("young", rule("a.test", path("/x"), path("/y")), created=YOUNG),
        ingress("old", rule("a.test", path("/x")), created=OLD),
    )
    assert winner(hosts, "a.test", "/x") == "old"
    assert winner(hosts, "a.test", "/y") == "young"
    assert reasons(findings) == [("young", "Conflict")]
    assert "shop/old" in findings[0].message


def test_exact_and_prefix_do_not_conflict_and_implementation_specific_is_prefix() -> None:
    hosts, findings = settled(
        ingress("old", rule("a.test", path("/x", "Prefix")), created=OLD),
        ingress("exact", rule("a.test", path("/x", "Exact")), created=YOUNG),
        ingress("specific", rule("a.test", path("/x", "ImplementationSpecific")), created=YOUNG),
    )
    assert winner(hosts, "a.test", "/x") == "old"
    assert winner(hosts, "a.test", "/x", PathKind.EXACT) == "exact"
    assert reasons(findings) == [("specific", "Conflict")]


def test_a_path_twice_in_one_ingress_conflicts_with_itself() -> None:
    hosts, findings = settled(
        ingress("web", rule("a.test", path("/", to=backend("one")), path("/", to=backend("two"))))
    )
    assert hosts["a.test"].paths["/", PathKind.PREFIX][0].service.name == "one"
    assert reasons(findings) == [("web", "Conflict")]


def test_rules_of_one_host_merge_across_namespaces() -> None:
    hosts, findings = settled(
        ingress("a", rule("a.test", path("/x")), namespace="n1"),
        ingress("b", rule("a.test", path("/y")), namespace="n2"),
    )
    assert findings == ()
    assert sorted(text for text, _ in hosts["a.test"].paths) == ["/x", "/y"]


def test_the_oldest_default_of_a_host_wins() -> None:
    hosts, findings = settled(
        ingress("young", rule("a.test", path("/x")), default=backend("young"), created=YOUNG),
        ingress("old", rule("a.test", path("/y")), default=backend("old"), created=OLD),
    )
    default = hosts["a.test"].default
    assert default is not None
    assert default[0].name == "old"
    assert reasons(findings) == [("young", "Conflict")]


def test_the_oldest_certificate_claim_of_a_host_wins() -> None:
    hosts, _ = settled(
        ingress("young", rule("a.test", path("/x")), tls=[IngressTls(("a.test",), "young")], created=YOUNG),
        ingress("none", rule("a.test", path("/z")), created="2023-01-01T00:00:00Z"),
        ingress("old", rule("a.test", path("/y")), tls=[IngressTls(("a.test",), "old")], created=OLD),
    )
    certificate = hosts["a.test"].certificate
    assert certificate is not None
    assert certificate[0].secret_name == "old"


def test_a_section_for_the_host_itself_beats_one_for_a_wildcard() -> None:
    sections = [IngressTls(("*.b.test",), "wild"), IngressTls(("a.b.test",), "own")]
    hosts, _ = settled(ingress("web", rule("a.b.test"), rule("c.b.test"), rule("d.c.b.test"), tls=sections))
    assert hosts["a.b.test"].certificate[0].secret_name == "own"  # type: ignore[index]
    assert hosts["c.b.test"].certificate[0].secret_name == "wild"  # type: ignore[index]
    assert hosts["d.c.b.test"].certificate is None


def test_a_host_has_tls_when_any_ingress_lists_it() -> None:
    hosts, _ = settled(
        ingress("plain", rule("a.test")),
        ingress("other", rule("b.test"), tls=[IngressTls(("a.test",), "t")]),
    )
    assert hosts["a.test"].has_tls
    assert not hosts["b.test"].has_tls


def test_a_wildcard_covers_one_label() -> None:
    assert covering("a.b.test") == ("a.b.test", "*.b.test")
    assert covering("localhost") == ("localhost",)
