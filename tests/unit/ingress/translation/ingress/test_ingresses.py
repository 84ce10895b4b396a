"""One Ingress is read as far as it is valid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from balancer.model.routes import PathKind
from ingress.findings import Findings
from ingress.objects.kinds import (
    Ingress,
    IngressBackend,
    IngressHttp,
    IngressPath,
    IngressRule,
    IngressTls,
    ResourceReference,
    ServicePortReference,
    ServiceReference,
    subject_of,
)
from ingress.translation.ingress.acceptance import CLASS_ANNOTATION
from ingress.translation.ingress.ingresses import IngressClaims, PathClaim, TlsClaim, read_claims
from tests.unit.ingress.cluster import backend, ingress, path, rule

ROWS = json.loads((Path(__file__).parents[4] / "cases" / "path_matching.json").read_text())["api_validation"]
CART = ServiceReference("cart", ServicePortReference(number=80))


def read(subject: Ingress) -> tuple[IngressClaims | None, list[str]]:
    findings = Findings()
    claims = read_claims(subject, findings.about(subject_of(subject)))
    return claims, [finding.reason for finding in findings.frozen()]


def claimed(subject: Ingress) -> list[tuple[str, str]]:
    claims, _ = read(subject)
    assert claims is not None
    return [(claim.host, claim.path) for claim in claims.paths]


def test_a_valid_ingress_claims_its_paths_without_a_finding() -> None:
    claims, found = read(ingress("web", rule("a.test", path("/x", "Exact"))))
    assert found == []
    assert claims == IngressClaims(("a.test",), (PathClaim("a.test", "/x", PathKind.EXACT, CART),))


def test_implementation_specific_is_prefix_and_no_path_is_the_root() -> None:
    claims, found = read(ingress("web", rule("", path("", "ImplementationSpecific"))))
    assert found == []
    assert claims is not None
    assert claims.paths == (PathClaim("", "/", PathKind.PREFIX, CART),)


@pytest.mark.parametrize(
    "bad",
    [
        path("/a//b"),
        path("/a", None),
        path("/a", "Regex"),
        path("relative"),
        path("/a\n"),
        path("/a", to=IngressBackend()),
        path("/a", to=IngressBackend(CART, ResourceReference("Bucket", "b"))),
        path("/a", to=IngressBackend(ServiceReference("cart", ServicePortReference("http", 80)))),
        path("/a", to=backend("no/service")),
    ],
)
def test_a_bad_path_leaves_its_neighbours(bad: IngressPath) -> None:
    subject = ingress("web", rule("a.test", path("/one"), bad, path("/two")))
    assert claimed(subject) == [("a.test", "/one"), ("a.test", "/two")]
    assert read(subject)[1] == ["InvalidIngress"]


@pytest.mark.parametrize("bad", [rule("1.2.3.4"), rule("Foo.com"), rule("*"), IngressRule("b.test", IngressHttp(()))])
def test_a_bad_rule_leaves_its_neighbours(bad: IngressRule) -> None:
    subject = ingress("web", rule("a.test"), bad, rule("c.test"))
    assert claimed(subject) == [("a.test", "/"), ("c.test", "/")]
    assert read(subject)[1] == ["InvalidIngress"]


def test_an_ingress_without_rules_and_default_backend_is_refused() -> None:
    assert read(ingress("web")) == (None, ["InvalidIngress"])


def test_two_classes_that_differ_are_refused() -> None:
    subject = ingress("web", rule(), annotations={CLASS_ANNOTATION: "nginx"})
    assert read(subject) == (None, ["InvalidIngress"])
    assert read(ingress("web", rule(), annotations={CLASS_ANNOTATION: "zonal"}))[1] == []


REFUSED = {
    "neither rules nor defaultBackend": ingress("web"),
    "service and resource both set": ingress(
        "web", rule("a.test", path(to=IngressBackend(CART, ResourceReference("Bucket", "b"))))
    ),
    "name and number both set": ingress(
        "web", rule("a.test", path(to=IngressBackend(ServiceReference("cart", ServicePortReference("http", 80)))))
    ),
    "empty list": ingress("web", IngressRule("a.test", IngressHttp(()))),
    "annotation kubernetes.io/ingress.class and spec.ingressClassName differ on create": ingress(
        "web", rule(), annotations={CLASS_ANNOTATION: "nginx"}
    ),
}


@pytest.mark.parametrize("row", [row for row in ROWS if row["field"] not in {"path", "pathType", "host"}], ids=str)
def test_rows_of_the_reference_table_about_whole_objects(row: dict[str, Any]) -> None:
    assert not row["valid"]
    claims, found = read(REFUSED[row["value"]])
    assert claims is None or claims.paths == ()
    assert found == ["InvalidIngress"]


def test_a_default_backend_alone_is_the_root_of_every_host() -> None:
    claims, found = read(ingress("web", default=backend()))
    assert found == []
    assert claims == IngressClaims(("",), (PathClaim("", "/", PathKind.PREFIX, CART),))


def test_a_default_backend_with_rules_is_the_default_of_their_hosts() -> None:
    claims, _ = read(ingress("web", rule("a.test", path("/x")), default=backend()))
    assert claims is not None
    assert claims.default == CART
    assert claims.hosts == ("a.test",)


def test_an_invalid_default_backend_leaves_the_rules() -> None:
    subject = ingress("web", rule("a.test"), default=backend("", 80))
    assert claimed(subject) == [("a.test", "/")]
    assert read(subject)[1] == ["InvalidIngress"]


def test_a_resource_backend_is_left_out_and_its_host_stays() -> None:
    claims, found = read(ingress("web", rule("a.test", path(to=IngressBackend(resource=ResourceReference("B", "b"))))))
    assert claims == IngressClaims(("a.test",))
    assert found == ["ResourceBackend"]


def test_a_rule_without_http_claims_its_host() -> None:
    claims, found = read(ingress("web", IngressRule("a.test")))
    assert claims == IngressClaims(("a.test",))
    assert found == []


def test_tls_sections_claim_their_hosts() -> None:
    sections = [IngressTls(("a.test", "*.b.test"), "one"), IngressTls((), "two"), IngressTls(("a.test",))]
    claims, found = read(ingress("web", rule("a.test"), rule(""), tls=sections))
    assert found == []
    assert claims is not None
    assert [(claim.host, claim.secret_name) for claim in claims.tls] == [
        ("a.test", "one"),
        ("*.b.test", "one"),
        ("a.test", "two"),
        ("", "two"),
        ("a.test", ""),
    ]


def test_a_bad_tls_host_or_secret_name_leaves_the_rest() -> None:
    sections = [IngressTls(("A.test", "a.test"), "one"), IngressTls(("b.test",), "ns/two")]
    claims, found = read(ingress("web", rule("a.test"), tls=sections))
    assert claims is not None
    assert claims.tls == (TlsClaim("a.test", "one"), TlsClaim("b.test", ""))
    assert found == ["InvalidIngress", "InvalidIngress"]


def test_tls_sections_for_every_host_are_expanded_once_with_a_secret_and_once_without() -> None:
    rules = [rule(f"h{number}.test") for number in range(300)]
    sections = [IngressTls((), f"s{number}" if number % 2 else "") for number in range(300)]
    claims, _ = read(ingress("web", *rules, tls=sections))
    assert claims is not None
    assert len(claims.tls) == 2 * len(rules)
    assert {claim.secret_name for claim in claims.tls} == {"", "s1"}
