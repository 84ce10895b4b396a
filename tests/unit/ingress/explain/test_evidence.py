"""What objects tell about an explanation: who set the policy, slices, and the findings that matter."""

from __future__ import annotations

import msgspec
import pytest

from balancer.explain.drafts import RouteName, name_of
from ingress.explain.evidence import Evidence
from ingress.findings import Finding, Severity
from ingress.objects.kinds import KubernetesObject, ResourceReference
from ingress.settings.context import TranslationContext
from tests import builders as build
from tests.matches import destination
from tests.unit.ingress import cluster

POLICY = "zonal-ingress.io/zone-policy"
ROUTE = name_of(destination(build.route()))
CONTEXT = TranslationContext()


def evidence(*objects: KubernetesObject, findings: tuple[Finding, ...] = ()) -> Evidence:
    return Evidence(cluster.inventory(cluster.ingress_class(), *objects), CONTEXT, findings=findings)


def said(*, service: str | None = None, ingress: str | None = None, **settings: str) -> tuple[KubernetesObject, ...]:
    """A shop whose Service and Ingress state a policy, or none."""
    return (
        cluster.config_map(**settings),
        cluster.service(annotations={POLICY: service} if service is not None else {}),
        cluster.ingress("web", cluster.rule(), annotations={POLICY: ingress} if ingress is not None else {}),
    )


@pytest.mark.parametrize(
    ("objects", "source"),
    [
        (said(service="off", ingress="off", zone_policy="off"), "flag-off"),
        (said(zone_aware_routing="true"), "default"),
        (said(zone_aware_routing="true", zone_policy="nonsense"), "default"),
        (said(zone_aware_routing="true", zone_policy="auto"), "configmap"),
        (said(zone_aware_routing="true", zone_policy="hints", service="off"), "service"),
        (said(zone_aware_routing="true", service="off", ingress="hints"), "ingress"),
        (said(zone_aware_routing="true", service="off", ingress="nonsense"), "service"),
        ((), "flag-off"),
    ],
)
def test_the_source_of_a_policy_is_the_last_that_states_a_valid_one(
    objects: tuple[KubernetesObject, ...], source: str
) -> None:
    assert evidence(*objects).policy_source(ROUTE).source == source


def test_the_source_of_a_policy_is_told_in_words() -> None:
    told = evidence(*said(zone_aware_routing="true", ingress="hints")).policy_source(ROUTE)
    assert told.sentence == "set by the annotation zonal-ingress.io/zone-policy of Ingress shop/web"
    assert evidence().policy_source(ROUTE).sentence == 'zone-aware-routing is not "true" in ConfigMap zonal/zonal'


@pytest.mark.parametrize(
    ("distribution", "asks"),
    [("PreferSameZone", "hints for a Service that asks"), ("", "prefer-zone for a Service that does not ask")],
)
def test_what_auto_comes_to_is_told(distribution: str, asks: str) -> None:
    objects = cluster.config_map(zone_aware_routing="true"), cluster.service(distribution=distribution)
    sentence = evidence(*objects).policy_source(ROUTE).sentence
    ending = f"; auto means {asks}"
    assert sentence.startswith(f"the default, because no object sets another{ending}")


def test_the_source_is_what_the_translation_goes_by() -> None:
    """Where the source is another, so is the model's policy."""
    policies = {None: "prefer-zone", "hints": "hints", "off": "off"}
    for service, by_service in policies.items():
        for ingress, by_ingress in policies.items():
            objects = said(service=service, ingress=ingress, zone_aware_routing="true")
            model = cluster.translated(*objects).model
            policy = model.hosts[0].routes[0].main.zone_policy or model.backends[0].zone_policy
            source = evidence(*objects).policy_source(ROUTE).source
            expected = {"ingress": by_ingress, "service": by_service, "default": "prefer-zone"}
            assert policy.name.value == expected[source]


def test_every_slice_is_told_with_its_conditions() -> None:
    endpoints = (
        cluster.endpoint("10.0.0.1", zone="zone-a"),
        cluster.endpoint("10.0.0.2", ready=False),
        cluster.endpoint("10.0.0.3", ready=False, serving=False, terminating=True),
        cluster.endpoint("10.0.0.4"),
    )
    steps = evidence(cluster.endpoint_slice("cart-2"), cluster.endpoint_slice("cart-1", *endpoints)).slice_steps(ROUTE)
    assert steps == [
        "EndpointSlice shop/cart-1 (IPv4; http 8080): 1 not ready without a zone, "
        "1 not ready and terminating without a zone, 1 ready without a zone, 1 ready in zone-a.",
        "EndpointSlice shop/cart-2 (IPv4; http 8080): 1 ready without a zone.",
    ]


def test_hints_are_told() -> None:
    item = cluster.endpoint_slice("cart-1", cluster.endpoint(hints=cluster.hints("zone-b", "zone-c")))
    (entry,) = evidence(item).slice_entries(ROUTE)
    assert (entry.address, entry.state) == ("10.0.0.1", "ready, hinted for zone-b zone-c")


def test_the_pod_of_an_endpoint_is_told_where_the_slice_names_it() -> None:
    pod, other = ResourceReference("Pod", "cart-5d4f"), ResourceReference("VirtualMachine", "cart-vm")
    endpoints = [
        msgspec.structs.replace(cluster.endpoint(address), target_ref=target)
        for address, target in (("10.0.0.1", pod), ("10.0.0.2", other), ("2001:DB8::1", None))
    ]
    entries = evidence(cluster.endpoint_slice("cart-1", *endpoints)).slice_entries(ROUTE)
    assert [(entry.address, entry.pod) for entry in entries] == [
        ("10.0.0.1", "cart-5d4f"),
        ("10.0.0.2", None),
        ("2001:db8::1", None),
    ]


def test_a_service_without_slices_is_told() -> None:
    assert evidence().slice_steps(ROUTE) == ["Service shop/cart has no EndpointSlice."]


def test_a_service_that_is_a_name_is_told() -> None:
    steps = evidence(cluster.service(kind="ExternalName")).slice_steps(ROUTE)
    assert steps == ["Service shop/cart is an ExternalName Service, so its addresses come from DNS."]


def test_of_many_slices_some_are_named_and_endpoints_are_counted() -> None:
    endpoints = [cluster.endpoint(f"10.0.0.{number}") for number in range(1, 61)]
    slices = [cluster.endpoint_slice(f"cart-{number}", *endpoints) for number in range(60)]
    steps = evidence(*slices).slice_steps(ROUTE)
    assert len(steps) == 51
    assert steps[0].endswith(": 60 ready without a zone.")
    assert steps[-1] == "10 more EndpointSlices are not listed."


def finding(kind: str, name: str, reason: str = "InvalidValue", namespace: str = "shop") -> Finding:
    return Finding(kind, namespace, name, reason, f"{name} is wrong.", "It has no effect.", Severity.DEGRADED)


def told(routes: tuple[RouteName, ...], *found: Finding, host: str = "shop.test") -> list[str]:
    objects = (
        cluster.ingress("web", cluster.rule()),
        cluster.ingress("rival", cluster.rule()),
        cluster.ingress("far", cluster.rule("far.test")),
        cluster.endpoint_slice("cart-1"),
    )
    return evidence(*objects, findings=found).finding_steps(host, routes)


def test_findings_about_what_is_involved_are_told() -> None:
    mine = finding("Ingress", "web"), finding("Service", "cart"), finding("EndpointSlice", "cart-1")
    settings = finding("ConfigMap", "zonal", namespace="zonal")
    others = finding("Ingress", "far"), finding("Ingress", "rival"), finding("Service", "other")
    assert told((ROUTE,), *mine, settings, *others) == [
        "Finding InvalidValue, Ingress shop/web, degraded: web is wrong. It has no effect.",
        "Finding InvalidValue, Service shop/cart, degraded: cart is wrong. It has no effect.",
        "Finding InvalidValue, EndpointSlice shop/cart-1, degraded: cart-1 is wrong. It has no effect.",
        "Finding InvalidValue, ConfigMap zonal/zonal, degraded: zonal is wrong. It has no effect.",
    ]


def test_findings_about_the_own_zone_are_told_of_every_route() -> None:
    option, node = finding("Option", "--zone", namespace=""), finding("Node", "node-1", namespace="")
    known = cluster.inventory(cluster.ingress_class())
    context = TranslationContext(node_name="node-1")
    other = finding("Node", "node-2", namespace="")
    steps = Evidence(known, context, findings=(option, node, other)).finding_steps("shop.test", (ROUTE,))
    assert steps == [
        "Finding InvalidValue, Option --zone, degraded: --zone is wrong. It has no effect.",
        "Finding InvalidValue, Node node-1, degraded: node-1 is wrong. It has no effect.",
    ]


def test_a_finding_about_the_whole_folder_is_told_where_nothing_serves() -> None:
    folder = finding("File", ".", "FolderEmpty", namespace="")
    assert told((), folder) == ["Finding FolderEmpty, File ., degraded: . is wrong. It has no effect."]


def test_findings_about_the_service_of_a_canary_are_told() -> None:
    route = build.route(canaries=[build.canary(ingress="canary")])
    assert len(told((name_of(destination(route)),), finding("Service", "next"))) == 1


def test_who_lost_a_claim_to_the_host_is_told() -> None:
    assert told((ROUTE,), finding("Ingress", "rival", "Conflict"), finding("Ingress", "far", "Conflict")) == [
        "Finding Conflict, Ingress shop/rival, degraded: rival is wrong. It has no effect."
    ]


def test_without_a_route_findings_about_ingresses_that_name_the_host_are_told() -> None:
    assert told((), finding("Ingress", "far"), finding("Ingress", "web"), host="far.test") == [
        "Finding InvalidValue, Ingress shop/far, degraded: far is wrong. It has no effect."
    ]


def test_an_ingress_that_is_refused_is_told_to_who_asks_about_its_host() -> None:
    refused = Finding("Ingress", "shop", "rival", "InvalidIngress", "A path is wrong.", "None.", Severity.CLOSED)
    assert told((ROUTE,), refused) == ["Finding InvalidIngress, Ingress shop/rival, closed: A path is wrong. None."]


@pytest.mark.parametrize("routes", [(), (ROUTE,)])
def test_an_ingress_of_another_class_is_told(routes: tuple[RouteName, ...]) -> None:
    foreign = cluster.ingress("web", cluster.rule("*.shop.test"), class_name="other")
    assert evidence(foreign).finding_steps("a.shop.test", routes) == [
        'Ingress shop/web names this host and is not served: its IngressClass "other" does not exist.'
    ]
    assert evidence(foreign).finding_steps("a.b.shop.test", ()) == []
