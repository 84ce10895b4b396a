"""Rows about routes, endpoints, certificates and other replicas."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from balancer.metrics.recorder import RouteLabels
from balancer.model.certificates import Certificate
from balancer.model.policies import Affinity
from balancer.model.publication import RoutingModel
from balancer.model.redirects import HttpsRedirect
from balancer.model.routes import Host
from balancer.workers.messages import MemberReport
from balancer.workers.reports import FleetReport
from ingress.admin.overview.document import CertificateRow, EndpointRow, PeerRow, RouteRow
from ingress.admin.overview.listing import (
    canonical,
    certificate_rows,
    endpoint_rows,
    features_of,
    peer_rows,
    route_rows,
)
from ingress.admin.overview.traffic import RouteAccount
from ingress.objects.kinds import EndpointConditions, EndpointSlice, Metadata, ResourceReference, SliceEndpoint
from ingress.sources.events import Upserted
from ingress.sources.inventory import SERVICE_LABEL, Inventory
from tests import builders as build


def inventory(*endpoints: SliceEndpoint, service: str = "cart") -> Inventory:
    known = Inventory()
    metadata = Metadata(namespace="shop", name=f"{service}-1", labels={SERVICE_LABEL: service})
    known.apply(Upserted(EndpointSlice(metadata=metadata, address_type="IPv4", endpoints=endpoints)))
    return known


def pod(address: str, name: str, *, zone: str = "zone-a", ready: bool = True) -> SliceEndpoint:
    return SliceEndpoint(
        addresses=(address,),
        zone=zone,
        node_name="node-1",
        conditions=EndpointConditions(ready=ready),
        target_ref=ResourceReference(kind="Pod", name=name),
    )


def test_every_path_is_a_row_and_the_default_backend_is_the_last() -> None:
    host = Host("shop.test", (build.route("/a", exact=True), build.route(to=None)), certificate="shop/tls")
    model = build.model(hosts=[host], default_route=build.route(to="zonal/default:80"))
    counted = RouteAccount()
    counted.requests = 7.0
    counted.errors = 2.0
    rows = list(route_rows(model, {RouteLabels("shop", "web", "cart", "shop.test", "/a", "Exact"): counted}))
    assert rows[0] == RouteRow(
        *("shop.test", "/a", "Exact", "shop", "web", "cart", "shop/cart:80"),
        certificate="shop/tls",
        requests=7,
        errors=2,
    )
    assert not any(row.requests for row in rows[1:])
    assert [(row.host, row.path, row.backend) for row in rows[1:]] == [
        ("shop.test", "/", ""),
        ("", "/", "zonal/default:80"),
    ]


def test_features_are_short_words_with_the_gates_first() -> None:
    split = build.route(affinity=Affinity(), canaries=[build.canary()])
    route = replace(split, gates=(HttpsRedirect(),))
    assert features_of(route) == ("https-redirect", "canary", "affinity")
    assert features_of(build.route()) == ()


def test_endpoints_have_their_pods_and_what_workers_think_of_them() -> None:
    backend = build.backend(of=[*build.endpoints("ab"), build.endpoint("10.0.0.9", ready=False)])
    report = FleetReport(
        unwell={("shop/cart:80", "10.0.0.2:80", "ejected"): 2},
        members=(MemberReport("shop/cart:80", "10.0.0.2:80", 3, 0.25, 7.5),),
    )
    rows = list(endpoint_rows([backend], inventory(pod("10.0.0.1", "cart-x")), report))
    assert rows == [
        EndpointRow("shop", "cart", "80", "10.0.0.1:80", zone="zone-a", pod="cart-x"),
        EndpointRow(
            "shop",
            "cart",
            "80",
            "10.0.0.2:80",
            zone="zone-b",
            state="ejected",
            workers=2,
            in_flight=3,
            latency_seconds=0.25,
            ejected_seconds=7.5,
        ),
        EndpointRow("shop", "cart", "80", "10.0.0.9:80", state="draining"),
    ]


def test_certificates_come_by_their_end_with_a_few_of_their_hosts() -> None:
    hosts = tuple(Host(f"{number:02}.test", certificate="shop/late") for number in range(30))
    certificates = Certificate("shop/late", b"", b"", 200.0), Certificate("shop/soon", b"", b"", 100.0)
    soon, late = certificate_rows(RoutingModel(hosts=hosts, certificates=certificates))
    assert soon == CertificateRow("shop", "soon", 100.0)
    assert (late.secret, late.host_count, len(late.hosts)) == ("late", 30, 20)


def test_peers_are_the_other_pods_of_the_publish_service() -> None:
    known = inventory(pod("10.0.0.2", "zonal-2", zone="zone-b", ready=False), pod("10.0.0.1", "zonal-1"))
    assert peer_rows(known, ("shop", "cart"), pod="zonal-1", port=10254) == (
        PeerRow("10.0.0.2", "zone-b", "node-1", "zonal-2", ready=False, url="http://10.0.0.2:10254/ui"),
    )
    assert peer_rows(known, None, pod="zonal-1", port=10254) == ()


@pytest.mark.parametrize(("text", "shown"), [("FD00::0:1", "fd00::1"), ("10.0.0.1", "10.0.0.1"), ("<b>", "<b>")])
def test_addresses_are_as_in_the_model(text: str, shown: str) -> None:
    assert canonical(text) == shown


def test_a_peer_with_an_ipv6_address_has_it_in_brackets() -> None:
    (row,) = peer_rows(inventory(pod("fd00::1", "zonal-2")), ("shop", "cart"), pod="", port=1)
    assert row.url == "http://[fd00::1]:1/ui"
