"""What the operator and Ingresses say about handshakes, hashes and annotations, in the model."""

from __future__ import annotations

from balancer.model.publication import RoutingModel
from balancer.model.settings import ListenerTls
from ingress.settings.table.option import NGINX_PREFIX
from tests.unit.ingress.cluster import config_map, ingress, path, rule, service, translated

ONE, TWO = "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384"


def nginx(**texts: str) -> dict[str, str]:
    return {NGINX_PREFIX + name.replace("_", "-"): text for name, text in texts.items()}


def ciphers_of(model: RoutingModel) -> dict[str, str]:
    return {host.name: host.ciphers for host in model.hosts}


def test_of_several_ingresses_of_a_host_the_oldest_says_the_ciphers() -> None:
    old = ingress(
        "old", rule("a.test"), rule("b.test"), created="2024-01-01T00:00:00Z", annotations=nginx(ssl_ciphers=ONE)
    )
    new = ingress("new", rule("b.test", path("/b")), created="2024-01-02T00:00:00Z")
    other = ingress(
        "other",
        rule("b.test", path("/c")),
        rule("c.test"),
        created="2024-01-03T00:00:00Z",
        annotations=nginx(ssl_ciphers=TWO),
    )
    model = translated(new, other, old, service()).model
    assert ciphers_of(model) == {"a.test": ONE, "b.test": ONE, "c.test": TWO}


def test_a_canary_says_nothing_about_handshakes() -> None:
    canary = ingress("next", rule("a.test"), annotations=nginx(canary="true", ssl_ciphers=TWO))
    assert ciphers_of(translated(ingress("web", rule("a.test")), canary, service()).model) == {"a.test": ""}


def test_the_keys_about_handshakes_reach_the_model() -> None:
    settings = config_map(ssl_protocols="TLSv1.3", ssl_ciphers=ONE, ssl_reject_handshake="true")
    expected = ListenerTls(oldest="TLSv1_3", ciphers=ONE, rejects_unknown=True)
    assert translated(settings, ingress("web", rule("a.test")), service()).model.proxy.tls == expected


def test_a_hash_of_the_configmap_holds_unless_an_ingress_says_otherwise() -> None:
    settings = config_map(upstream_hash_by="$host", upstream_hash_by_subset="true", upstream_hash_by_subset_size="5")
    own = ingress("own", rule("b.test"), annotations=nginx(upstream_hash_by="$uri", upstream_hash_by_subset="no"))
    off = ingress("off", rule("c.test"), annotations=nginx(upstream_hash_by_subset="false"))
    model = translated(settings, ingress("web", rule("a.test")), own, off, service()).model
    found = {host.name: (route.main.hash_by, route.main.hash_subset) for host in model.hosts for route in host.routes}
    assert found == {"a.test": ("$host", 5), "b.test": ("$uri", 5), "c.test": ("$host", 1)}


def test_an_ingress_with_a_forbidden_annotation_is_closed_and_its_neighbours_are_not() -> None:
    bad = ingress("bad", rule("a.test"), annotations=nginx(upstream_vhost="forbidden.test"))
    result = translated(
        config_map(annotation_value_word_blocklist="forbidden"), bad, ingress("web", rule("b.test")), service()
    )
    assert {host.name: route.closed for host in result.model.hosts for route in host.routes} == {
        "a.test": True,
        "b.test": False,
    }
    assert [(each.name, each.reason) for each in result.findings] == [("bad", "ForbiddenAnnotation")]
