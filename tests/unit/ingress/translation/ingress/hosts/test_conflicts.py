"""The oldest claim wins, whatever the order of arrival."""

from __future__ import annotations

from itertools import permutations

import msgspec
import pytest

from balancer.model.routes import PathKind
from ingress.findings import Finding, Findings, Severity
from ingress.objects.kinds import Ingress, IngressRule, IngressSpec, IngressTls, subject_of
from ingress.settings.table.cluster import ClusterSettings
from ingress.sources.inventory import Inventory
from ingress.translation.ingress.claiming import claims_of
from ingress.translation.ingress.hosts.conflicts import by_seniority, note_uncovered_hosts, settle
from ingress.translation.ingress.hosts.settled import OwnClaims, SettledHost
from tests.unit.ingress.cluster import backend, ingress, nginx, path, reasons, rule

YOUNGEST, YOUNG, OLD = "2024-03-01T00:00:00Z", "2024-02-01T00:00:00Z", "2024-01-01T00:00:00Z"


def settled(*ingresses: Ingress) -> tuple[dict[str, SettledHost], tuple[Finding, ...]]:
    findings = Findings()
    return settle(ordered(*ingresses), findings), findings.frozen()


def ordered(*ingresses: Ingress) -> list[OwnClaims]:
    return by_seniority(map(claims, ingresses))


def claims(item: Ingress) -> OwnClaims:
    report = Findings().about(subject_of(item))
    made = claims_of(item, ClusterSettings(), inventory=Inventory(), report=report)
    assert made is not None
    return made


def winner(hosts: dict[str, SettledHost], host: str, text: str, kind: PathKind = PathKind.PREFIX) -> str:
    return hosts[host].paths[text, kind].owner.name


def names(*ingresses: Ingress) -> list[str]:
    """In their order. Each gets a default backend, because one without rules needs it."""
    whole = [msgspec.structs.replace(item, spec=IngressSpec(default_backend=backend())) for item in ingresses]
    return [each.owner.name for each in ordered(*whole)]


def test_seniority_is_age_then_name_descending_then_the_order_of_the_folder() -> None:
    everything = [
        ingress("c", created=OLD),
        ingress("b", created=YOUNG),
        ingress("a", created=YOUNG),
        ingress("z", created="", sequence=1),
        ingress("y", created="", sequence=2),
    ]
    assert {tuple(names(*order)) for order in permutations(everything)} == {("c", "b", "a", "z", "y")}


def test_timestamps_are_compared_as_moments() -> None:
    berlin, utc = ingress("b", created="2024-01-01T01:30:00+02:00"), ingress("a", created="2024-01-01T00:00:00Z")
    bare = ingress("c", created="2024-01-01T00:30:00")
    assert names(bare, utc, berlin) == ["b", "a", "c"]


def test_a_timestamp_that_is_none_counts_as_absent() -> None:
    assert names(ingress("a", created="yesterday"), ingress("b", created=YOUNG)) == ["b", "a"]


def test_the_namespace_counts_before_the_name() -> None:
    assert names(ingress("a", namespace="n2"), ingress("b", namespace="n1")) == ["a", "b"]


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
    assert hosts["a.test"].paths["/", PathKind.PREFIX].main.branch.service.name == "one"
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
    assert default.main.branch.service.name == "old"
    assert reasons(findings) == [("young", "Conflict")]


def test_the_oldest_certificate_claim_of_a_host_wins() -> None:
    hosts, _ = settled(
        ingress("young", rule("a.test", path("/x")), tls=[IngressTls(("a.test",), "young")], created=YOUNG),
        ingress("none", rule("a.test", path("/z")), created="2023-01-01T00:00:00Z"),
        ingress("old", rule("a.test", path("/y")), tls=[IngressTls(("a.test",), "old")], created=OLD),
    )
    certificate = hosts["a.test"].certificate
    assert certificate is not None
    assert certificate.secret_name == "old"


def test_a_section_for_the_host_itself_beats_one_for_a_wildcard() -> None:
    sections = [IngressTls(("*.b.test",), "wild"), IngressTls(("a.b.test",), "own")]
    hosts, _ = settled(ingress("web", rule("a.b.test"), rule("c.b.test"), rule("d.c.b.test"), tls=sections))
    assert hosts["a.b.test"].certificate.secret_name == "own"  # type: ignore[union-attr]
    assert hosts["c.b.test"].certificate.secret_name == "wild"  # type: ignore[union-attr]
    assert hosts["d.c.b.test"].certificate is None


def test_a_host_has_tls_when_any_ingress_lists_it_or_has_another_tls_section() -> None:
    hosts, _ = settled(
        ingress("plain", rule("a.test"), rule("c.test")),
        ingress("other", rule("b.test"), rule(""), tls=[IngressTls(("a.test",), "t")]),
    )
    assert {name: host.has_tls for name, host in hosts.items()} == {
        "a.test": True,
        "b.test": True,
        "c.test": False,
        "": False,
    }


def uncovered(*ingresses: Ingress) -> tuple[Finding, ...]:
    findings, known = Findings(), ordered(*ingresses)
    note_uncovered_hosts(known, settle(known, Findings()), findings)
    return findings.frozen()


def test_a_host_of_a_rule_that_tls_does_not_name_is_told_with_the_repair() -> None:
    (finding,) = uncovered(ingress("web", rule("shop.test"), rule("pay.test"), tls=[IngressTls(("pay.test",), "cert")]))
    assert (finding.name, finding.reason, finding.severity) == ("web", "TlsHostMissing", Severity.UNPROTECTED)
    assert finding.message == (
        'No hosts of spec.tls name "shop.test", the host of a rule: add the host to the section of its Secret.'
    )
    assert finding.effect == "HTTPS for the host gets the default certificate."


def test_a_rule_without_a_host_beside_hosts_of_tls_is_told() -> None:
    (finding,) = uncovered(ingress("web", rule(""), tls=[IngressTls(("shop.test",), "cert")]))
    assert "give the rule its host" in finding.message
    assert finding.effect == "HTTPS for the host gets the default certificate. HTTP is not redirected to HTTPS."


@pytest.mark.parametrize("hosts", [(), ("shop.test",), ("*.test",), ("shop.test", "more.test")])
def test_hosts_that_tls_covers_are_no_finding(hosts: tuple[str, ...]) -> None:
    assert uncovered(ingress("web", rule("shop.test"), tls=[IngressTls(hosts, "cert")])) == ()


def test_a_host_that_another_ingress_has_a_certificate_for_is_no_finding() -> None:
    other = ingress("other", rule("shop.test", path("/other")), tls=[IngressTls((), "cert")])
    assert uncovered(other, ingress("web", rule("shop.test"), tls=[IngressTls(("pay.test",), "cert")])) == ()


def test_without_tls_no_host_is_missed() -> None:
    assert uncovered(ingress("web", rule("shop.test"))) == ()


def of_another_namespace(*rules: IngressRule) -> Ingress:
    return ingress("theirs", *rules, tls=[IngressTls(("a.test", "*.test"), "t")], namespace="young", created=YOUNG)


@pytest.mark.parametrize("host", ["a.test", "b.test"])
def test_the_namespace_that_claimed_a_host_first_decides_about_its_tls(host: str) -> None:
    hosts, _ = settled(
        ingress("own", rule(host, path("/")), created=OLD),
        of_another_namespace(rule(host, path("/x")), rule("young.test", path("/"))),
    )
    assert (hosts[host].holder, hosts[host].has_tls, hosts[host].certificate) == ("shop", False, None)
    assert hosts["young.test"].has_tls
    assert {text: claim.redirects_to_https for (text, _), claim in hosts[host].paths.items()} == {
        "/": False,
        "/x": True,
    }


@pytest.mark.parametrize(("name", "shown"), [("", "t"), ("own", "own")])
def test_a_host_without_a_certificate_of_its_own_may_show_that_of_another_namespace(name: str, shown: str) -> None:
    """The older namespace has a certificate by an Ingress that is younger than all others, or none."""
    own = ingress("late", rule("a.test", path("/y")), tls=[IngressTls(("a.test",), name)], created=YOUNGEST)
    known = ordered(
        ingress("own", rule("a.test", path("/")), created=OLD), of_another_namespace(rule("a.test", path("/x"))), own
    )
    findings = Findings()
    hosts = settle(known, findings, lends=True)
    note_uncovered_hosts(known, hosts, findings)
    assert hosts["a.test"].certificate is not None
    assert hosts["a.test"].certificate.secret_name == shown
    assert findings.frozen() == ()


def test_a_secret_for_a_host_of_another_namespace_is_told() -> None:
    ordered_claims = ordered(
        ingress("own", rule("a.test", path("/")), created=OLD, tls=[IngressTls(("a.test",), "")]),
        of_another_namespace(rule("a.test", path("/x"))),
    )
    findings = Findings()
    hosts = settle(ordered_claims, findings)
    note_uncovered_hosts(ordered_claims, hosts, findings)
    assert hosts["a.test"].certificate is None
    (finding,) = findings.frozen()
    assert (finding.reason, finding.severity, finding.namespace) == ("Conflict", Severity.UNPROTECTED, "young")


def test_ciphers_of_another_namespace_do_not_count() -> None:
    strong, weak = (nginx(ssl_ciphers=text) for text in ("ECDHE-RSA-AES256-GCM-SHA384", "AES128-SHA"))
    hosts, (finding,) = settled(
        ingress("own", rule("a.test", path("/")), created=OLD),
        ingress("theirs", rule("a.test", path("/x")), namespace="young", created=YOUNG, annotations=weak),
        ingress("late", rule("a.test", path("/y")), created=YOUNG, annotations=strong),
    )
    assert hosts["a.test"].ciphers == "ECDHE-RSA-AES256-GCM-SHA384"
    assert (finding.reason, finding.namespace) == ("Conflict", "young")
