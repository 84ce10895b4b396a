"""A reference leads to its Service port or nowhere."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from balancer.model.endpoints import BackendKey, Ejection, Endpoint, EndpointTls, place_of
from balancer.model.zones import ZONES_OFF, Zone, ZonePolicy, ZonePolicyName
from ingress.findings import Finding, Findings, Subject
from ingress.objects.kinds import KubernetesObject, Service, ServicePort, ServicePortReference, ServiceReference
from ingress.settings.table.backends import BackendSettings
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.option import Overrides
from ingress.settings.table.zones import ZoneSettings
from ingress.settings.zone_values import PolicyChoice
from ingress.translation.cluster.zone_findings import GivenZone
from ingress.translation.memory import InventoryView
from ingress.translation.services.backend_memories import BackendMemories, UsedBackends
from ingress.translation.services.backends import Backends
from tests.unit.ingress.cluster import endpoint, endpoint_slice, inventory, reasons, service
from tests.unit.ingress.said import said

ASKER = Subject("Ingress", "shop", "web")
CART = BackendKey("shop/cart:80")


class Asking:
    """Backends over some objects, and what was found."""

    def __init__(
        self,
        *objects: KubernetesObject,
        settings: ClusterSettings | None = None,
        overrides: Mapping[BackendKey, Overrides] | None = None,
    ) -> None:
        self.findings = Findings()
        known, memories = inventory(*objects), BackendMemories()
        memories.begin(InventoryView(known))
        self.backends = Backends(
            inventory=known,
            memories=memories,
            settings=settings or ClusterSettings(),
            overrides=overrides or {},
            allow_local=False,
            findings=self.findings,
        )

    def key(self, name: str = "cart", *, port: str = "", number: int = 0, namespace: str = "shop") -> str | None:
        reference = ServiceReference(name, ServicePortReference(port, number))
        found = self.backends.resolve(reference, namespace, report=self.findings.about(ASKER))
        return found.key if found else None


def test_a_port_by_number_and_by_name_is_the_same_backend() -> None:
    asking = Asking(service(), endpoint_slice())
    assert asking.key(number=80) == "shop/cart:80"
    assert asking.key(port="http") == "shop/cart:80"
    (backend,) = asking.backends.used().backends
    assert (backend.namespace, backend.service, backend.port) == ("shop", "cart", "80")
    assert backend.endpoints == (Endpoint("10.0.0.1", 8080),)
    assert asking.findings.frozen() == ()


def test_a_service_without_endpoints_is_a_backend_still() -> None:
    asking = Asking(service())
    assert asking.key(number=80) == "shop/cart:80"
    assert asking.backends.used().backends[0].endpoints == ()


@pytest.mark.parametrize(
    ("item", "number", "port", "reason"),
    [
        (service("other"), 80, "", "ServiceMissing"),
        (service(namespace="other"), 80, "", "ServiceMissing"),
        (service(), 81, "", "ServicePortMissing"),
        (service(), 0, "https", "ServicePortMissing"),
        (service("cart", ServicePort(80, "http", "UDP")), 80, "", "ServicePortMissing"),
        (service(kind="ExternalName"), 80, "", "ExternalName"),
    ],
)
def test_a_reference_that_leads_nowhere_is_none_and_a_finding(
    item: KubernetesObject, number: int, port: str, reason: str
) -> None:
    asking = Asking(item, endpoint_slice())
    assert asking.key(number=number, port=port) is None
    assert asking.backends.used().backends == ()
    assert reasons(asking.findings.frozen()) == [("web", reason)]


def test_tcp_is_chosen_where_udp_has_the_same_number() -> None:
    asking = Asking(service("cart", ServicePort(53, "dns", "UDP"), ServicePort(53, "dns-tcp")))
    assert asking.key(number=53) == "shop/cart:53"


def test_only_backends_that_were_asked_for_are_used_and_sorted() -> None:
    asking = Asking(service("b"), service("a"), service("unused"))
    asking.key("b", number=80)
    asking.key("a", number=80)
    assert [backend.key for backend in asking.backends.used().backends] == ["shop/a:80", "shop/b:80"]


def test_the_first_port_of_a_service_is_its_first_tcp_port() -> None:
    asking = Asking(service("a", ServicePort(53, "dns", "UDP"), ServicePort(80, "http"), ServicePort(81, "x")))
    assert asking.backends.first_port("shop", "a").number == 80
    assert asking.backends.first_port("shop", "missing").number == 0


def test_a_backend_is_kept_as_the_ingress_over_the_service_over_the_cluster_say() -> None:
    item = service(annotations={"zonal-ingress.io/max-concurrency": "2", "zonal-ingress.io/ejection-time": "2s"})
    settings = ClusterSettings(
        backend=BackendSettings(max_concurrency=1, panic_percent=1, ejection=Ejection(on_5xx=True))
    )
    asking = Asking(item, settings=settings, overrides={CART: said({"max-concurrency": "3"})})
    asking.key(number=80)
    (backend,) = asking.backends.used().backends
    assert (backend.max_concurrency, backend.panic_percent) == (3, 1)
    assert backend.ejection == Ejection(on_5xx=True, seconds=2.0)


def test_an_override_holds_for_every_way_to_speak_to_its_service_port() -> None:
    asking = Asking(service(), overrides={CART: said({"max-concurrency": "3"})})
    reference, report = ServiceReference("cart", ServicePortReference("", 80)), asking.findings.about(ASKER)
    for way in (None, EndpointTls()):
        asking.backends.resolve(reference, "shop", report=report, tls=way)
    assert [backend.max_concurrency for backend in asking.backends.used().backends] == [3, 3]


def test_the_zone_policy_is_the_services_while_the_flag_is_on() -> None:
    item = service(annotations={"zonal-ingress.io/zone-min-endpoints": "3", "zonal-ingress.io/zone-policy": "x"})
    on = Asking(item, settings=ClusterSettings(zone_aware_routing=True))
    on.key(number=80)
    assert on.backends.used().backends[0].zone_policy == ZonePolicy(
        ZonePolicyName.PREFER_ZONE, min_endpoints=3, heeds_hints=True
    )
    assert reasons(on.findings.frozen()) == [("cart", "InvalidValue")]
    off = Asking(item)
    off.key(number=80)
    assert off.backends.used().backends[0].zone_policy == ZONES_OFF


def with_address(cluster_ip: str) -> Service:
    plain = service()
    return msgspec.structs.replace(plain, spec=msgspec.structs.replace(plain.spec, cluster_ip=cluster_ip))


@pytest.mark.parametrize("by_ingress", [False, True])
def test_the_service_itself_is_the_endpoint_where_cluster_or_ingress_say_so(by_ingress: bool) -> None:
    settings = ClusterSettings(backend=BackendSettings(service_upstream=not by_ingress))
    overrides = {CART: said({"service-upstream": "true"})} if by_ingress else {}
    asking = Asking(with_address("10.96.0.7"), endpoint_slice(), settings=settings, overrides=overrides)
    asking.key(number=80)
    assert asking.backends.used().backends[0].endpoints == (Endpoint("10.96.0.7", 80),)


def test_a_headless_service_keeps_its_endpoints() -> None:
    settings = ClusterSettings(backend=BackendSettings(service_upstream=True))
    asking = Asking(with_address("None"), endpoint_slice(), settings=settings)
    asking.key(number=80)
    assert asking.backends.used().backends[0].endpoints == (Endpoint("10.0.0.1", 8080),)
    assert reasons(asking.findings.frozen()) == [("cart", "NoClusterIP")]


def test_each_way_to_speak_to_one_service_port_is_a_backend_of_its_own() -> None:
    asking = Asking(service(), endpoint_slice())
    reference, report = ServiceReference("cart", ServicePortReference("", 80)), asking.findings.about(ASKER)
    ways = (None, EndpointTls(), EndpointTls(verify=True, authority="shop/ca"), EndpointTls())
    found = [asking.backends.resolve(reference, "shop", report=report, tls=way) for way in ways]
    assert found[1] is found[3]
    made = asking.backends.used().backends
    assert len({backend.key for backend in made}) == len(made) == 3
    assert {backend.tls for backend in made} == set(ways)
    assert {place_of(backend.key) for backend in made} == {"shop/cart:80"}
    assert {(backend.namespace, backend.service, backend.port) for backend in made} == {("shop", "cart", "80")}
    assert {backend.endpoints for backend in made} == {(Endpoint("10.0.0.1", 8080),)}


@pytest.mark.parametrize(
    ("said_by_port", "asked", "http2"),
    [("", None, False), ("kubernetes.io/h2c", None, True), ("grpc", None, True), ("http", None, False),
     ("kubernetes.io/ws", None, False), ("kubernetes.io/h2c", False, False), ("", True, True)],
)  # fmt: skip
def test_the_service_port_says_whether_http2_is_spoken_unless_the_ingress_does(
    said_by_port: str, asked: bool | None, http2: bool
) -> None:
    port = ServicePort(80, "http", app_protocol=said_by_port)
    asking = Asking(service("cart", port), endpoint_slice())
    reference, report = ServiceReference("cart", ServicePortReference("", 80)), asking.findings.about(ASKER)
    backend = asking.backends.resolve(reference, "shop", report=report, http2=asked)
    assert backend is not None
    assert (backend.http2, backend.tls) == (http2, None)
    assert (backend.key == CART) is not http2
    assert place_of(backend.key) == CART
    assert backend.endpoints == (Endpoint("10.0.0.1", 8080),)


def test_http2_with_tls_and_without_are_backends_of_their_own() -> None:
    asking = Asking(service(), endpoint_slice())
    reference, report = ServiceReference("cart", ServicePortReference("", 80)), asking.findings.about(ASKER)
    for tls in (None, EndpointTls()):
        for http2 in (False, True):
            asking.backends.resolve(reference, "shop", report=report, tls=tls, http2=http2)
    made = asking.backends.used().backends
    assert {(backend.tls, backend.http2) for backend in made} == {
        (None, False), (None, True), (EndpointTls(), False), (EndpointTls(), True),
    }  # fmt: skip


def test_backends_that_differ_in_tls_only_share_the_findings_of_their_service_port() -> None:
    asking = Asking(service())
    reference, report = ServiceReference("cart", ServicePortReference("", 80)), asking.findings.about(ASKER)
    asking.backends.resolve(reference, "shop", report=report)
    alone = found_in_slices(asking.backends.used())
    asking.backends.resolve(reference, "shop", report=report, tls=EndpointTls())
    assert found_in_slices(asking.backends.used()) == alone != ()


def found_in_slices(used: UsedBackends) -> tuple[Finding, ...]:
    return used.plan(allow_local=False, replicas_of=None, given_zone=None).findings


def test_used_backends_say_which_services_were_looked_for_and_which_zones_matter() -> None:
    settings = ClusterSettings(zone_aware_routing=True, zones=ZoneSettings(PolicyChoice(ZonePolicyName.OFF)))
    asking = Asking(service(), endpoint_slice(), service("pay"), settings=settings)
    for name in ("cart", "pay", "missing"):
        asking.key(name, number=80)
    made = {backend.key: backend for backend in asking.backends.used().backends}
    asking.backends.route_policy(made[CART], said({"zone-policy": "ordered: rack"}))
    used = asking.backends.used()
    assert used.services == {("shop", "cart"), ("shop", "pay"), ("shop", "missing")}
    assert used.policy_names == {ZonePolicyName.OFF, ZonePolicyName.ORDERED}
    rack = frozenset({"rack"})
    assert (used.label_keys, used.every_label_key, used.zoned) == ({CART: rack}, rack, frozenset({CART}))
    assert used.sliced.keys() == {("shop", "cart"), ("shop", "pay")}


def test_used_backends_do_not_change_when_more_is_resolved() -> None:
    asking = Asking(service("a"), service("b"))
    asking.key("a", number=80)
    used = asking.backends.used()
    before = msgspec.structs.astuple(used)
    asking.key("b", number=80)
    assert msgspec.structs.astuple(used) == before
    assert [backend.key for backend in used.backends] == ["shop/a:80"]


def test_the_plan_counts_the_endpoints_of_the_given_zone() -> None:
    zone = Zone("zone-a")
    asking = Asking(service(), endpoint_slice("cart-1", endpoint("10.0.0.1", zone=zone)))
    asking.key(number=80)
    used = asking.backends.used(counts_zones=True)
    plan = used.plan(allow_local=False, replicas_of=None, given_zone=GivenZone(zone))
    assert plan.given_zone == GivenZone(zone, services={zone: 1})
    assert asking.backends.used().sliced["shop", "cart"].zones == frozenset()
