"""The whole translation: one model of everything that is valid, findings for the rest."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.routes import Owner
from balancer.model.zones import OwnZone, Zone
from ingress.findings import Finding, Severity
from ingress.objects.kinds import (
    Ingress,
    IngressBackend,
    IngressHttp,
    IngressPath,
    IngressRule,
    IngressSpec,
    IngressTls,
    Kind,
    KubernetesObject,
    Metadata,
    ResourceReference,
    Service,
    ServicePort,
    ServicePortReference,
    ServiceReference,
    ServiceSpec,
    SliceEndpoint,
    SlicePort,
)
from ingress.settings.context import TranslationContext
from ingress.sources.events import Event, Removed, Replaced, SourceFindings, Upserted
from ingress.sources.inventory import Inventory
from ingress.translation.assembly import translate
from tests.properties import examples
from tests.unit.ingress.cluster import (
    backend,
    config_map,
    endpoint,
    endpoint_slice,
    ingress,
    ingress_class,
    inventory,
    node,
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


def test_a_shop_becomes_a_model_without_findings() -> None:
    result = translated(ingress("web", rule()), service(), endpoint_slice("cart-1", endpoint(zone="zone-a")))
    assert result.findings == ()
    assert routes(result) == {("shop.test", "/", "Prefix"): "shop/cart:80"}
    (cart,) = result.model.backends
    assert [(item.address, item.port, item.zone) for item in cart.endpoints] == [("10.0.0.1", 8080, "zone-a")]
    (route,) = result.model.hosts[0].routes
    assert (route.owner, route.main.service.name) == (Owner("Ingress", "shop", "web"), "cart")


def test_what_two_ingresses_say_about_a_backend_is_the_oldest_ones() -> None:
    older = ingress("older", rule(), created="2020-01-01T00:00:00Z", annotations={})
    limit = {"zonal-ingress.io/max-concurrency": "1", "zonal-ingress.io/zone-min-endpoints": "2"}
    newer = ingress("newer", rule("new.test"), created="2021-01-01T00:00:00Z", annotations=limit)
    for objects, expected in (((newer,), 1), ((older, newer), 0)):
        (cart,) = translated(*objects, service(), endpoint_slice()).model.backends
        assert cart.max_concurrency == expected


def test_an_empty_cluster_is_an_empty_model() -> None:
    result = translate(Inventory(), TranslationContext())
    assert result.findings == ()
    assert result.model.hosts == ()


def test_ingresses_of_others_are_not_served() -> None:
    result = translated(ingress("web", rule(), class_name="nginx"), ingress_class("nginx", "other"), service())
    assert result.model.hosts == ()
    assert result.model.backends == ()
    assert result.findings == ()


def test_a_default_backend_without_rules_serves_every_host() -> None:
    result = translated(ingress("web", default=backend()), service())
    assert routes(result) == {("", "/", "Prefix"): "shop/cart:80"}


def test_a_default_backend_with_rules_serves_their_hosts() -> None:
    result = translated(
        ingress("web", rule("a.test", path("/x")), default=backend("fallback")), service(), service("fallback")
    )
    (host,) = result.model.hosts
    assert host.default is not None
    assert (host.default.main.backend, host.default.path) == ("shop/fallback:80", "/")


def test_a_resource_backend_leaves_its_host_without_the_path() -> None:
    resource = IngressBackend(resource=ResourceReference("Bucket", "b"))
    result = translated(ingress("web", rule("a.test", path(to=resource))))
    assert [(host.name, host.routes) for host in result.model.hosts] == [("a.test", ())]


def test_a_canary_creates_nothing_and_is_a_finding() -> None:
    canary = {"nginx.ingress.kubernetes.io/canary": "true"}
    result = translated(
        ingress("canary", rule("a.test", path("/info")), annotations=canary, created="2020-01-01T00:00:00Z"),
        ingress("web", rule("b.test")),
        service(),
    )
    assert routes(result) == {("b.test", "/", "Prefix"): "shop/cart:80"}
    assert reasons(result.findings) == [("canary", "CanaryWithoutMain")]


def test_a_protection_that_is_not_carried_out_closes_its_own_paths_alone() -> None:
    protected = {"nginx.ingress.kubernetes.io/auth-snippet": "deny all;"}
    result = translated(
        ingress("closed", rule("a.test", path("/x")), annotations=protected, default=backend()),
        ingress("open", rule("a.test", path("/y"))),
        service(),
    )
    assert routes(result) == {("a.test", "/x", "Prefix"): None, ("a.test", "/y", "Prefix"): "shop/cart:80"}
    default = result.model.hosts[0].default
    assert default is not None
    assert default.main.backend is None


def test_the_loser_of_a_conflict_takes_its_annotations_with_it() -> None:
    result = translated(
        ingress("old", rule(), created="2023-01-01T00:00:00Z"),
        ingress("young", rule(), annotations={"nginx.ingress.kubernetes.io/proxy-read-timeout": "9"}),
        service(),
    )
    (route,) = result.model.hosts[0].routes
    assert (route.owner.name, route.policy.read_timeout_seconds) == ("old", 60.0)


def test_unreferenced_secrets_stay_out_of_the_model() -> None:
    assert translated(ingress("web", rule()), service(), TLS).model.certificates == ()


def test_the_own_zone_is_in_the_model() -> None:
    result = translated(node("node-1", "zone-a"), context=TranslationContext(node_name="node-1"))
    assert result.model.own_zone == OwnZone(Zone("zone-a"), "node", "node-1")


def test_findings_of_the_sources_are_among_the_findings() -> None:
    found = Finding("File", "", "a.yaml", "FileUnreadable", "m", "e", Severity.CLOSED)
    known = inventory(config_map())
    known.apply(SourceFindings("folder", (found,)))
    assert translate(known, TranslationContext()).findings == (found,)


CLUSTER: tuple[KubernetesObject, ...] = (
    ingress_class(),
    ingress("old", rule("a.test", path("/x"), path("/y")), created="2023-01-01T00:00:00Z"),
    ingress("young", rule("a.test", path("/x"), path("/z")), default=backend()),
    ingress("undated", rule("a.test", path("/z")), created="", sequence=1),
    ingress("broken", rule("A.test"), rule("a.test", path("//"))),
    ingress("tls", rule(), tls=[IngressTls(("shop.test",), "t")]),
    service(),
    service("other"),
    endpoint_slice("one", endpoint(zone="zone-a"), endpoint("10.0.0.2", ready=False, terminating=True)),
    endpoint_slice("two", endpoint("10.0.0.2", node="node-1"), endpoint(zone="zone-b")),
    node(),
    TLS,
    ON,
)


@pytest.mark.large
@given(st.randoms(use_true_random=False))
@examples(40)
def test_any_order_of_the_same_events_gives_the_same_translation(order: random.Random) -> None:
    expected = translate(inventory(*CLUSTER), TranslationContext())
    events: list[Event] = [Upserted(item) for item in CLUSTER + CLUSTER]
    events += [Removed(Kind.SERVICE, "shop", "never-there"), Replaced(Kind.SECRET, (TLS,))]
    order.shuffle(events)
    known = Inventory()
    for event in events:
        known.apply(event)
    found = translate(known, TranslationContext())
    assert msgspec.structs.replace(found, seen_at=expected.seen_at) == expected, "more events make a later stamp only"


TEXT = st.text(max_size=12) | st.sampled_from(
    ["", "zonal", "/", "shop", "cart", "http", "a\r\nb", "\x00", "\ud800", "*"]
)
NUMBER = st.integers(-1, 70000) | st.sampled_from([0, 80])
REFERENCE = st.builds(ServiceReference, TEXT, st.builds(ServicePortReference, TEXT, NUMBER))
BACKEND = st.builds(IngressBackend, st.none() | REFERENCE, st.none() | st.builds(ResourceReference, TEXT, TEXT))
ANNOTATION = st.sampled_from(
    [
        "nginx.ingress.kubernetes.io/proxy-body-size",
        "nginx.ingress.kubernetes.io/canary",
        "nginx.ingress.kubernetes.io/canary-by-header-pattern",
        "nginx.ingress.kubernetes.io/upstream-hash-by",
        "nginx.ingress.kubernetes.io/auth-url",
        "zonal-ingress.io/zone-policy",
        "zonal-ingress.io/zone-min-percent",
        "kubernetes.io/ingress.class",
    ]
)
METADATA = st.builds(
    Metadata,
    st.just("junk"),
    st.just("shop"),
    creation_timestamp=TEXT,
    annotations=st.dictionaries(ANNOTATION | TEXT.map("zonal-ingress.io/".__add__), TEXT, max_size=2),
)
PATHS = st.lists(st.builds(IngressPath, TEXT, st.none() | TEXT | st.just("Prefix"), BACKEND), max_size=2).map(tuple)
RULE = st.builds(IngressRule, TEXT, st.none() | PATHS.map(IngressHttp))
INGRESS = st.builds(
    Ingress,
    METADATA,
    st.builds(
        IngressSpec,
        st.none() | TEXT | st.just("zonal"),
        st.none() | BACKEND,
        st.lists(RULE, max_size=2).map(tuple),
        st.lists(st.builds(IngressTls, st.lists(TEXT, max_size=2).map(tuple), TEXT), max_size=1).map(tuple),
    ),
)
SERVICE = st.builds(
    Service,
    METADATA,
    st.builds(
        ServiceSpec,
        TEXT,
        st.lists(st.builds(ServicePort, NUMBER, TEXT, TEXT), max_size=2).map(tuple),
        st.lists(TEXT, max_size=1).map(tuple),
    ),
)
ENDPOINTS = st.lists(
    st.builds(SliceEndpoint, st.lists(TEXT, max_size=1).map(tuple), node_name=TEXT, zone=TEXT), max_size=2
)
SLICE = st.builds(
    lambda endpoints, family, ports: endpoint_slice("junk", *endpoints, family=family, ports=ports),
    ENDPOINTS,
    TEXT | st.just("IPv4"),
    st.lists(st.builds(SlicePort, TEXT, st.none() | NUMBER, TEXT), max_size=2).map(tuple),
)
JUNK = INGRESS | SERVICE | SLICE | st.builds(lambda data: config_map(**data), st.dictionaries(TEXT, TEXT, max_size=2))


@pytest.mark.large
@given(st.lists(JUNK, max_size=4))
def test_junk_in_any_field_never_raises_and_never_costs_a_neighbour(junk: list[Any]) -> None:
    neighbour = (ingress("web", rule("neighbour.test")), service(), endpoint_slice("good", endpoint("10.9.9.9")))
    result = translated(*neighbour, *junk)
    host = next(host for host in result.model.hosts if host.name == "neighbour.test")
    assert host.routes[0].main.backend == "shop/cart:80"
    cart = next(item for item in result.model.backends if item.key == "shop/cart:80")
    assert "10.9.9.9" in {item.address for item in cart.endpoints}
    # Lone surrogates would break the way to the workers, line breaks the log.
    assert msgspec.msgpack.encode(result.model)
    assert all(finding.message.isprintable() and finding.name.isprintable() for finding in result.findings)


def test_every_service_that_an_ingress_names_may_change_the_translation() -> None:
    """Even the Service of a claim that lost its path, and one that does not exist."""
    old = ingress("old", rule("shop.test", path("/")), created="2024-01-01T00:00:00Z")
    young = ingress("young", rule("shop.test", path("/", to=backend("lost"))), created="2024-02-01T00:00:00Z")
    result = translated(old, young, ingress_class(), service())
    assert result.services == {("shop", "cart"), ("shop", "lost")}
