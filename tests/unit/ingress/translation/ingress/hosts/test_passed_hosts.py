"""Which hosts pass their TLS to endpoints, and where it goes: as in ingress-nginx, the oldest Ingress decides."""

from __future__ import annotations

import pytest

from balancer.model.endpoints import BackendKey
from balancer.model.gates import PassedTls
from balancer.model.publication import RoutingModel
from balancer.model.relays import RelayRoute
from balancer.model.routes import INGRESS
from ingress.findings import Finding, Severity
from ingress.objects.kinds import Ingress, IngressRule, IngressTls, KubernetesObject, ServicePort
from ingress.settings.context import TranslationContext
from tests.unit.ingress.cluster import backend, ingress, nginx, path, reasons, rule, service, translated

ON = TranslationContext(enable_ssl_passthrough=True)
PASSED = nginx(ssl_passthrough="true")
OLD, YOUNG = "2024-01-01T00:00:00Z", "2024-02-01T00:00:00Z"
SERVICES = (
    service("cart", ServicePort(80, "http"), ServicePort(443, "tls")),
    service("web"),
    service(namespace="other"),
)


def made(*objects: KubernetesObject, context: TranslationContext = ON) -> tuple[RoutingModel, tuple[Finding, ...]]:
    translation = translated(*SERVICES, *objects, context=context)
    return translation.model, translation.findings


def relays(*objects: Ingress) -> dict[str, BackendKey | None]:
    model, _ = made(*objects)
    return {each.name: each.branches[0].backend for each in model.relays}


def vault(*rules: IngressRule, created: str = OLD, name: str = "vault", **annotations: str) -> Ingress:
    given = rules or (rule("vault.test", path("/", to=backend("cart", 443))),)
    return ingress(name, *given, created=created, annotations={**PASSED, **nginx(**annotations)})


def closed_paths(model: RoutingModel) -> list[tuple[str, str]]:
    return [(host.name, route.path) for host in model.hosts for route in host.routes if route.closed]


def test_the_service_of_the_root_gets_the_connections_in_the_protocol_of_the_client() -> None:
    model, findings = made(vault(backend_protocol="HTTPS", proxy_connect_timeout="7"))
    assert findings == ()
    (relay,) = model.relays
    assert isinstance(relay, RelayRoute)
    assert (relay.name, relay.ends_tls) == ("vault.test", False)
    assert (relay.configuration, relay.listener) == (INGRESS, INGRESS)
    assert relay.branches[0].backend == BackendKey("shop/cart:443")
    assert relay.connect_seconds == 7.0
    (used,) = (each for each in model.backends if each.key == relay.branches[0].backend)
    assert (used.tls, used.http2) == (None, False), "the bytes are TLS already"


def test_requests_in_the_clear_are_served_and_those_over_tls_belong_elsewhere() -> None:
    model, _ = made(vault())
    (route,) = model.hosts[0].routes
    assert route.main.backend == BackendKey("shop/cart:443")
    assert route.gates == (PassedTls(),)
    assert closed_paths(model) == []


@pytest.mark.parametrize("name", ["vault.test", "*.vault.test"])
def test_exact_names_and_wildcards_pass(name: str) -> None:
    assert relays(vault(rule(name, path("/")))) == {name: BackendKey("shop/cart:80")}


def test_other_hosts_pass_nothing() -> None:
    plain = ingress("shop", rule("shop.test", path("/")))
    assert relays(vault(), plain).keys() == {"vault.test"}
    assert relays(plain) == {}


def test_an_alias_passes_as_its_host_does() -> None:
    model, _ = made(vault(server_alias="safe.test"))
    assert [each.name for each in model.relays] == ["safe.test", "vault.test"]


def test_the_default_backend_of_the_ingress_stands_for_the_root() -> None:
    asking = ingress("vault", rule("vault.test", path("/x")), annotations=PASSED, default=backend("web"))
    assert relays(asking) == {"vault.test": BackendKey("shop/web:80")}


def test_without_the_option_nothing_passes_and_the_paths_are_closed() -> None:
    model, findings = made(vault(), context=TranslationContext())
    assert model.relays == ()
    assert closed_paths(model) == [("vault.test", "/")]
    assert [(each.reason, each.severity) for each in findings] == [("ClosedByAnnotation", Severity.CLOSED)]
    assert "--enable-ssl-passthrough" in findings[0].message


@pytest.mark.parametrize(
    ("asking", "words"),
    [
        (vault(rule("", path("/"))), "give the rule a host"),
        (vault(rule("vault.test", path("/x"))), "add the path"),
    ],
    ids=["no host", "no root"],
)
def test_a_host_that_cannot_pass_is_closed(asking: Ingress, words: str) -> None:
    model, findings = made(asking)
    assert model.relays == ()
    assert len(closed_paths(model)) == 1
    assert [(each.reason, each.severity) for each in findings] == [("TlsNotPassed", Severity.CLOSED)]
    assert words in findings[0].message


def test_the_oldest_ingress_of_a_host_decides() -> None:
    older = ingress("older", rule("vault.test", path("/shop")), created=OLD)
    model, findings = made(older, vault(created=YOUNG))
    assert model.relays == ()
    assert closed_paths(model) == [("vault.test", "/")], "the older one is served as before"
    assert reasons(findings) == [("vault", "TlsNotPassed")]


def test_a_younger_ingress_beside_a_host_that_passes_learns_that_it_gets_no_tls() -> None:
    younger = ingress("younger", rule("vault.test", path("/shop")), created=YOUNG)
    model, findings = made(vault(), younger)
    assert [each.name for each in model.relays] == ["vault.test"]
    assert reasons(findings) == [("younger", "PathBesidePassedTls")]
    assert all(route.gates == (PassedTls(),) for route in model.hosts[0].routes)


def test_connections_never_go_to_the_root_of_another_namespace() -> None:
    mine = vault(rule("vault.test", path("/x")))
    theirs = ingress("theirs", rule("vault.test", path("/")), namespace="other", created=YOUNG)
    model, findings = made(mine, theirs)
    assert model.relays == ()
    assert closed_paths(model) == [("vault.test", "/x")]
    assert reasons(findings) == [("vault", "TlsNotPassed")]


def test_protections_that_cannot_hold_reset_the_connections() -> None:
    model, findings = made(vault(allowlist_source_range="10.0.0.0/8"))
    (relay,) = model.relays
    assert relay.branches[0].backend is None
    assert closed_paths(model) == [], "over plain HTTP the protection holds"
    assert reasons(findings) == [("vault", "ClosedByAnnotation")]


def test_a_missing_service_resets_the_connections() -> None:
    model, findings = made(vault(rule("vault.test", path("/", to=backend("nobody")))))
    assert model.relays[0].branches[0].backend is None
    assert ("vault", "ServiceMissing") in reasons(findings)


def test_canaries_get_no_connections() -> None:
    canary = ingress(
        "next",
        rule("vault.test", path("/", to=backend("web"))),
        annotations=nginx(canary="true", canary_weight="50", ssl_passthrough="true"),
    )
    assert relays(vault(), canary) == {"vault.test": BackendKey("shop/cart:443")}


def test_a_redirect_to_https_stays() -> None:
    asking = ingress("vault", rule("vault.test", path("/")), annotations=PASSED, tls=[IngressTls(("vault.test",), "")])
    model, _ = made(asking)
    assert [type(each).__name__ for each in model.hosts[0].routes[0].gates] == ["PassedTls", "HttpsRedirect"]
