"""A reference leads to its Service port or nowhere."""

from __future__ import annotations

import msgspec
import pytest

from balancer.model import ZONES_OFF, Ejection, Endpoint, ZonePolicy, ZonePolicyName
from ingress.backend_settings import BackendSettings
from ingress.findings import Findings, Subject
from ingress.objects import KubernetesObject, Service, ServicePort, ServicePortReference, ServiceReference
from ingress.settings import ClusterSettings
from ingress.translation.backends import Backends
from ingress.values import Draft
from tests.unit.ingress.cluster import endpoint_slice, inventory, reasons, service

ASKER = Subject("Ingress", "shop", "web")


class Asking:
    """Backends over some objects, and what was found."""

    def __init__(self, *objects: KubernetesObject, settings: ClusterSettings | None = None) -> None:
        self.findings = Findings()
        self.backends = Backends(
            inventory=inventory(*objects),
            settings=settings or ClusterSettings(),
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
    (backend,) = asking.backends.used()
    assert (backend.namespace, backend.service, backend.port) == ("shop", "cart", "80")
    assert backend.endpoints == (Endpoint("10.0.0.1", 8080),)
    assert asking.findings.frozen() == ()


def test_a_service_without_endpoints_is_a_backend_still() -> None:
    asking = Asking(service())
    assert asking.key(number=80) == "shop/cart:80"
    assert asking.backends.used()[0].endpoints == ()


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
    assert asking.backends.used() == ()
    assert reasons(asking.findings.frozen()) == [("web", reason)]


def test_tcp_is_chosen_where_udp_has_the_same_number() -> None:
    asking = Asking(service("cart", ServicePort(53, "dns", "UDP"), ServicePort(53, "dns-tcp")))
    assert asking.key(number=53) == "shop/cart:53"


def test_only_backends_that_were_asked_for_are_used_and_sorted() -> None:
    asking = Asking(service("b"), service("a"), service("unused"))
    asking.key("b", number=80)
    asking.key("a", number=80)
    assert [backend.key for backend in asking.backends.used()] == ["shop/a:80", "shop/b:80"]


def test_the_first_port_of_a_service_is_its_first_tcp_port() -> None:
    asking = Asking(service("a", ServicePort(53, "dns", "UDP"), ServicePort(80, "http"), ServicePort(81, "x")))
    assert asking.backends.first_port("shop", "a").number == 80
    assert asking.backends.first_port("shop", "missing").number == 0


def test_a_backend_is_kept_as_the_oldest_ingress_over_the_service_over_the_cluster_say() -> None:
    item = service(annotations={"zonal-ingress.io/max-concurrency": "2", "zonal-ingress.io/ejection-time": "2s"})
    settings = ClusterSettings(
        backend=BackendSettings(max_concurrency=1, panic_percent=1, ejection=Ejection(on_5xx=True))
    )
    asking = Asking(item, settings=settings)
    by_name = ServiceReference("cart", ServicePortReference("http", 0))
    by_number = ServiceReference("cart", ServicePortReference("", 80))
    asking.backends.override(by_name, "shop", {"backend": {"max_concurrency": 3}})
    asking.backends.override(by_number, "shop", {"backend": {"max_concurrency": 4, "panic_percent": 4}})
    asking.backends.override(ServiceReference("missing", ServicePortReference("", 80)), "shop", {})
    asking.key(number=80)
    (backend,) = asking.backends.used()
    assert (backend.max_concurrency, backend.panic_percent) == (3, 1)
    assert backend.ejection == Ejection(on_5xx=True, seconds=2.0)


def test_the_zone_policy_is_the_services_while_the_flag_is_on() -> None:
    item = service(annotations={"zonal-ingress.io/zone-min-endpoints": "3", "zonal-ingress.io/zone-policy": "x"})
    on = Asking(item, settings=ClusterSettings(zone_aware_routing=True))
    on.key(number=80)
    assert on.backends.used()[0].zone_policy == ZonePolicy(ZonePolicyName.PREFER_ZONE, min_endpoints=3)
    assert reasons(on.findings.frozen()) == [("cart", "InvalidValue")]
    off = Asking(item)
    off.key(number=80)
    assert off.backends.used()[0].zone_policy == ZONES_OFF


def with_address(cluster_ip: str) -> Service:
    plain = service()
    return msgspec.structs.replace(plain, spec=msgspec.structs.replace(plain.spec, cluster_ip=cluster_ip))


@pytest.mark.parametrize("said", [None, {"endpoints": {"service_upstream": True}}])
def test_the_service_itself_is_the_endpoint_where_cluster_or_ingress_say_so(said: Draft | None) -> None:
    settings = ClusterSettings(service_upstream=said is None)
    asking = Asking(with_address("10.96.0.7"), endpoint_slice(), settings=settings)
    reference = ServiceReference("cart", ServicePortReference(number=80))
    asking.backends.override(reference, "shop", said or {})
    asking.backends.override(reference, "shop", {"endpoints": {"service_upstream": False}})
    asking.key(number=80)
    assert asking.backends.used()[0].endpoints == (Endpoint("10.96.0.7", 80),)


def test_a_headless_service_keeps_its_endpoints() -> None:
    asking = Asking(with_address("None"), endpoint_slice(), settings=ClusterSettings(service_upstream=True))
    asking.key(number=80)
    assert asking.backends.used()[0].endpoints == (Endpoint("10.0.0.1", 8080),)
    assert reasons(asking.findings.frozen()) == [("cart", "NoClusterIP")]
