"""An Ingress becomes claims that hold all that conflicts and assembly need."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from balancer.model.rewriting import Rewriting
from balancer.model.routes import Canary, PathKind
from ingress.findings import Findings
from ingress.objects.kinds import Ingress, IngressTls, subject_of
from ingress.settings.context import TranslationContext
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.option import NGINX_PREFIX
from ingress.translation.ingress.claiming import claims_of, claims_of_ingresses
from ingress.translation.ingress.hosts.settled import OwnClaims
from ingress.translation.memory import InventoryView, Memory
from ingress.translation.secrets.materials import Materials
from tests import builders as build
from tests.unit.ingress.cluster import backend, ingress, ingress_class, inventory, path, reasons, rule, translated


def claims(item: Ingress) -> OwnClaims:
    report = Findings().about(subject_of(item))
    made = claims_of(item, ClusterSettings(), inventory=inventory(), report=report)
    assert made is not None
    return made


def nginx(**said: str) -> Mapping[str, str]:
    return {NGINX_PREFIX + name.replace("_", "-"): text for name, text in said.items()}


def test_an_ingress_claims_its_paths_and_a_default_for_each_of_its_hosts() -> None:
    sections = [IngressTls(("a.test",), "cert")]
    made = claims(ingress("web", rule("a.test", path("/x")), rule("b.test"), default=backend("rest"), tls=sections))
    assert made.owner == build.owner("web")
    assert made.hosts == ("a.test", "b.test")
    assert [(each.host, each.path, each.main.branch.service.name, each.is_default) for each in made.claims] == [
        ("a.test", "/x", "cart", False),
        ("b.test", "/", "cart", False),
        ("a.test", "/", "rest", True),
        ("b.test", "/", "rest", True),
    ]
    assert [(each.host, each.secret_name) for each in made.certificates] == [("a.test", "cert")]


def test_a_canary_claims_neither_hosts_nor_certificates() -> None:
    annotations = nginx(canary="true", canary_weight="7", server_alias="old.test")
    sections = [IngressTls(("a.test",), "cert")]
    made = claims(ingress("trial", rule("a.test"), annotations=annotations, tls=sections))
    assert (made.is_canary, made.hosts, made.aliases, made.certificates, made.secrets) == (True, (), (), (), ())
    (claim,) = made.claims
    (wanted,) = claim.branches
    assert (wanted.branch.owner, wanted.branch.service.full_name) == (build.owner("trial"), "shop/cart")
    assert wanted.branch.canary == Canary(weight=7)


def test_a_claim_is_an_expression_where_annotations_make_it_so() -> None:
    said = nginx(rewrite_target="/$2", x_forwarded_prefix="/api")
    (claim,) = claims(ingress("api", rule("a.test", path("/Api(/|$)(.*)")), annotations=said)).claims
    assert (claim.closed, claim.is_expression, claim.kind) == (False, True, PathKind.PREFIX)
    assert claim.rewriting == Rewriting("/$2", forwarded_prefix="/api")
    (plain,) = claims(ingress("web", rule("a.test"))).claims
    assert (plain.closed, plain.is_expression, plain.rewriting, plain.main.branch.canary) == (False, False, None, None)


def test_a_claim_is_closed_where_an_annotation_without_support_protects() -> None:
    (claim,) = claims(ingress("web", rule("a.test"), annotations=nginx(server_snippet="deny all;"))).claims
    assert claim.closed


@pytest.mark.parametrize(
    ("protocol", "http2", "has_tls"),
    [("GRPC", True, False), ("GRPCS", True, True), ("HTTP", False, False), ("HTTPS", False, True)],
)
def test_an_ingress_says_how_its_endpoints_are_spoken_to(protocol: str, http2: bool, has_tls: bool) -> None:
    (claim,) = claims(ingress("web", rule("a.test"), annotations=nginx(backend_protocol=protocol))).claims
    assert (claim.main.http2, claim.main.tls is not None, claim.closed) == (http2, has_tls, False)


def test_an_ingress_that_does_not_say_it_leaves_it_to_the_service() -> None:
    (claim,) = claims(ingress("web", rule("a.test"))).claims
    assert (claim.main.http2, claim.main.tls) == (None, None)


def test_endpoint_tls_that_cannot_be_verified_closes_every_claim() -> None:
    said = nginx(backend_protocol="HTTPS", proxy_ssl_secret="shop/missing")
    made = claims(ingress("web", rule("a.test"), annotations=said))
    assert [each.closed for each in made.claims] == [True]
    assert made.secrets == (("shop", "missing"),), "it is wanted, so that it is read once it is there"


def test_only_ingresses_that_are_ours_claim() -> None:
    findings = Findings()
    objects = (ingress_class(), ingress("web", rule()), ingress("far", rule(), class_name="no-such"))
    known, settings, memory = inventory(*objects), ClusterSettings(), Memory[OwnClaims | None]()
    memory.begin(InventoryView(known))
    made = claims_of_ingresses(
        known,
        TranslationContext(),
        settings=settings,
        findings=findings,
        materials=Materials(settings.keys),
        memory=memory,
    )
    assert [each.owner.name for each in made] == ["web"]
    assert reasons(findings.frozen()) == [("far", "IngressClassMissing")]


@pytest.mark.parametrize(("has_tls", "forced"), [(True, "false"), (True, "true"), (False, "false"), (False, "true")])
def test_a_route_redirects_where_it_is_forced_or_its_host_has_tls(has_tls: bool, forced: str) -> None:
    tls = [IngressTls(("shop.test",), "")] if has_tls else []
    said = nginx(force_ssl_redirect=forced)
    (host,) = translated(ingress("web", rule("shop.test"), annotations=said, tls=tls)).model.hosts
    assert host.routes[0].redirects_to_https is (has_tls or forced == "true")
