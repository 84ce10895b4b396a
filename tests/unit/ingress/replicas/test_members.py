"""Where other replicas are: the pods behind the own Service, ready or not."""

from __future__ import annotations

import msgspec

from ingress.objects.kinds import ResourceReference, SliceEndpoint
from ingress.replicas.members import places_of
from tests.unit.ingress import cluster

OWN = ("zonal", "zonal")


def pod(name: str, address: str, *, ready: bool = True) -> SliceEndpoint:
    reference = ResourceReference(kind="Pod", name=name)
    return msgspec.structs.replace(cluster.endpoint(address, ready=ready), target_ref=reference)


def test_every_pod_behind_the_service_is_a_place_once() -> None:
    known = cluster.inventory(
        cluster.endpoint_slice(
            "zonal-4", pod("a", "10.0.0.1"), pod("b", "10.0.0.2", ready=False), of="zonal", namespace="zonal"
        ),
        cluster.endpoint_slice(
            "zonal-6", pod("a", "fd00::1"), pod("c", "fd00::3"), of="zonal", namespace="zonal", family="IPv6"
        ),
        cluster.endpoint_slice("cart-1", pod("x", "10.0.0.9")),
    )
    assert places_of(known, OWN, port=9444) == ("10.0.0.1:9444", "10.0.0.2:9444", "[fd00::3]:9444")
    assert places_of(known, None, port=9444) == ()


def test_names_are_no_places() -> None:
    many = [pod(f"p{number}", f"10.0.{number // 250}.{number % 250}") for number in range(300)]
    known = cluster.inventory(
        cluster.endpoint_slice("zonal-1", *many, of="zonal", namespace="zonal"),
        cluster.endpoint_slice("zonal-2", pod("d", "host.example"), of="zonal", namespace="zonal", family="FQDN"),
    )
    places = places_of(known, OWN, port=9444)
    assert len(places) == 300
    assert "host.example:9444" not in places
