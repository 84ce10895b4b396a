"""A backend has its endpoints from slices, from a name outside of the cluster, or is the Service itself."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from balancer.model.endpoints import Backend, BackendKey, Ejection, Endpoint
from ingress.findings import Findings
from ingress.objects.kinds import Service, ServicePort, ServiceSpec
from ingress.objects.metadata import Metadata
from ingress.settings.table.backends import BackendSettings
from ingress.settings.table.cluster import ClusterSettings
from ingress.translation.services.backend_making import BackendMaker
from ingress.translation.services.backend_memories import MadeBackend
from ingress.translation.services.backend_zones import BackendZones
from tests.unit.ingress.cluster import endpoint, endpoint_slice, inventory, reasons, service
from tests.unit.ingress.said import said

PORT = ServicePort(80, "http")


def made(item: Service, *, findings: Findings, settings: BackendSettings | None = None) -> MadeBackend:
    maker = BackendMaker(settings or BackendSettings(), BackendZones(ClusterSettings()), allow_local=False)
    known = inventory(item, endpoint_slice("cart-1", endpoint("10.0.0.1"), endpoint("127.0.0.1")))
    asked = Backend(BackendKey("shop/cart:80"), "shop", "cart", "80")
    overrides = said({"ejection-max-percent": "20"})
    return maker.make(known, findings, backend=asked, service=item, port=PORT, overrides=overrides)


def test_endpoints_come_from_slices_and_what_is_found_about_those_is_kept_apart() -> None:
    findings = Findings()
    found = made(service(), findings=findings)
    assert found.backend.endpoints == (Endpoint("10.0.0.1", 8080),)
    assert found.slice_findings is not None
    assert [note[1] for note in found.slice_findings] == ["EndpointRefused"], "to be told with every change of slices"
    assert findings.frozen() == ()


def test_whoever_overrides_counts_more_than_the_cluster() -> None:
    settings = BackendSettings(ejection=Ejection(max_percent=70))
    assert made(service(), findings=Findings(), settings=settings).backend.ejection.max_percent == 20


def test_a_service_that_stands_for_itself_has_no_slices() -> None:
    item = service()
    item = replace(item, spec=replace(item.spec, cluster_ip="10.96.0.7"))
    found = made(item, findings=Findings(), settings=BackendSettings(service_upstream=True))
    assert [each.address for each in found.backend.endpoints] == ["10.96.0.7"]
    assert found.slice_findings is None


@pytest.mark.parametrize(("name", "kept"), [("Api.Example.com.", "api.example.com"), ("10.1", ""), ("-", "")])
def test_the_name_of_another_host_is_looked_up_if_it_is_one(name: str, kept: str) -> None:
    findings = Findings()
    item = Service(Metadata("cart", "shop"), ServiceSpec("ExternalName", (PORT,), external_name=name))
    found = made(item, findings=findings)
    assert (found.external_name, found.backend.endpoints) == (kept, ())
    assert [reason for _, reason in reasons(findings.frozen())] == ([] if kept else ["InvalidExternalName"])
