"""Settled claims become hosts and routes, sorted, with the certificates, redirects and backends they resolve to."""

from __future__ import annotations

import pytest
import trustme

from balancer.model.routes import PathKind
from balancer.model.zones import ZonePolicy, ZonePolicyName
from ingress.objects.kinds import (
    IngressTls,
)
from tests.unit.ingress.cluster import (
    backend,
    config_map,
    ingress,
    path,
    reasons,
    routes,
    rule,
    service,
    tls_secret,
    translated,
)

AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)
LEAF = AUTHORITY.issue_cert("shop.test", key_type=trustme.KeyType.ECDSA)
TLS = tls_secret("t", LEAF.cert_chain_pems[0].bytes(), LEAF.private_key_pem.bytes())
ON = config_map(zone_aware_routing="true")


def test_hosts_routes_and_backends_are_sorted() -> None:
    result = translated(
        ingress(
            "web", rule("b.test", path("/b"), path("/a", "Prefix", backend("b")), path("/a", "Exact")), rule("a.test")
        ),
        service("b"),
        service("cart"),
    )
    assert [host.name for host in result.model.hosts] == ["a.test", "b.test"]
    found = [(route.path, route.kind) for route in result.model.hosts[1].routes]
    assert found == [("/a", PathKind.EXACT), ("/a", PathKind.PREFIX), ("/b", PathKind.PREFIX)]
    assert [item.key for item in result.model.backends] == ["shop/b:80", "shop/cart:80"]


def test_a_missing_service_answers_503_and_keeps_its_name_for_the_metrics() -> None:
    result = translated(ingress("web", rule("a.test", path("/x"), path("/y", to=backend("gone")))), service())
    assert routes(result) == {("a.test", "/x", "Prefix"): "shop/cart:80", ("a.test", "/y", "Prefix"): None}
    assert result.model.hosts[0].routes[1].main.service.name == "gone"
    assert reasons(result.findings) == [("web", "ServiceMissing")]


def test_services_are_looked_for_in_the_namespace_of_the_ingress_alone() -> None:
    result = translated(ingress("web", rule(), namespace="other"), service())
    assert list(routes(result).values()) == [None]


@pytest.mark.parametrize("tls_listed", [False, True])
@pytest.mark.parametrize("forced", [False, True])
def test_redirects_to_https(tls_listed: bool, forced: bool) -> None:
    result = translated(
        ingress("web", rule()),
        ingress("tls", rule("other.test"), tls=[IngressTls(("shop.test",))] if tls_listed else []),
        service(),
        config_map(force_ssl_redirect=str(forced).lower()),
    )
    route = result.model.hosts[1].routes[0]
    assert route.redirects_to_https is (tls_listed or forced)


@pytest.mark.parametrize(
    ("prefixes", "plain"),
    [
        (None, {"/.well-known/acme-challenge/token"}),
        ("/plain, /other", {"/plain/page"}),
        ("", set()),
        ("plain", {"/.well-known/acme-challenge/token"}),
    ],
)
def test_the_operator_says_which_paths_stay_on_plain_http(prefixes: str | None, plain: set[str]) -> None:
    paths = ("/", "/.well-known/acme-challenge/token", "/plain/page")
    made = [ingress(f"web-{number}", rule("shop.test", path(text))) for number, text in enumerate(paths)]
    said = {} if prefixes is None else {"no_tls_redirect_locations": prefixes}
    result = translated(*made, service(), config_map(force_ssl_redirect="true", **said))
    assert {route.path for route in result.model.hosts[0].routes if not route.redirects_to_https} == plain


def test_a_host_gets_the_certificate_of_its_ingress() -> None:
    result = translated(ingress("web", rule(), tls=[IngressTls(("shop.test",), "t")]), service(), TLS)
    assert result.model.hosts[0].certificate == "shop/t"
    assert [certificate.key for certificate in result.model.certificates] == ["shop/t"]
    assert result.findings == ()


def test_a_certificate_for_another_host_is_a_finding() -> None:
    result = translated(ingress("web", rule("a.test"), tls=[IngressTls(("a.test",), "t")]), service(), TLS)
    assert result.model.hosts[0].certificate is None
    assert result.model.certificates == ()
    assert reasons(result.findings) == [("web", "CertificateUnusable")]


def test_an_ingress_overrides_the_zone_policy_of_its_routes_while_the_flag_is_on() -> None:
    off = {"zonal-ingress.io/zone-policy": "off"}
    objects = (
        ingress("plain", rule("a.test")),
        ingress("off", rule("b.test"), annotations=off),
        service(),
    )
    result = translated(*objects, ON)
    assert result.model.backends[0].zone_policy == ZonePolicy(ZonePolicyName.PREFER_ZONE, heeds_hints=True)
    policies = [host.routes[0].main.zone_policy for host in result.model.hosts]
    assert policies == [None, ZonePolicy(ZonePolicyName.OFF)]
    assert [host.routes[0].main.zone_policy for host in translated(*objects).model.hosts] == [None, None]
