"""The cluster of the bench is as large as it says, and each change changes one endpoint."""

from __future__ import annotations

from collections import Counter
from ipaddress import IPv4Address, ip_address

from hypothesis import given
from hypothesis import strategies as st

from ingress.objects.converting import decode_item
from ingress.objects.kinds import Kind
from tests.bench.control.cluster import (
    SLICE_ENDPOINTS,
    Shape,
    address_of,
    changed_slice,
    documents,
    host_of,
    slices_of,
    unfollowed,
)
from tests.properties import examples

SMALL = Shape(ingresses=20, endpoints=400, certificates=3, namespaces=4, nodes=6, large=150)
SHAPES = st.builds(
    Shape,
    ingresses=st.integers(2, 50),
    endpoints=st.integers(200, 1000),
    large=st.integers(1, 200),
)


@given(SHAPES)
@examples(30)
def test_every_endpoint_belongs_to_one_service(shape: Shape) -> None:
    numbers = [number for service in range(shape.ingresses) for number in shape.endpoints_of(service)]
    assert numbers == list(range(shape.endpoints))


def test_the_whole_cluster_can_be_decoded() -> None:
    made = list(documents(SMALL, port=8080))
    for document in made:
        decode_item(Kind(document["kind"]), document)
    kinds = Counter(document["kind"] for document in made)
    assert kinds == {
        "Ingress": 20,
        "Service": 20,
        "EndpointSlice": 21,
        "Node": 6,
        "IngressClass": 1,
        "ConfigMap": 1,
    }
    with_tls = [each for each in made if each["kind"] == "Ingress" and each["spec"]["tls"]]
    assert [each["spec"]["rules"][0]["host"] for each in with_tls] == [host_of(number) for number in range(3)]


def test_endpoints_are_in_three_zones_and_on_nodes_of_their_zone() -> None:
    made = list(documents(SMALL, port=8080))
    zones = {
        each["metadata"]["name"]: each["metadata"]["labels"]["topology.kubernetes.io/zone"]
        for each in made
        if each["kind"] == "Node"
    }
    endpoints = [endpoint for each in made if each["kind"] == "EndpointSlice" for endpoint in each["endpoints"]]
    assert len(endpoints) == 400
    assert all(endpoint["zone"] == zones[endpoint["nodeName"]] for endpoint in endpoints)
    assert len({endpoint["zone"] for endpoint in endpoints}) == 3
    assert max(len(each["endpoints"]) for each in made if each["kind"] == "EndpointSlice") == SLICE_ENDPOINTS


@given(st.sets(st.integers(0, 2_000_000), min_size=2, max_size=20))
@examples(50)
def test_every_number_has_an_address_of_its_own_on_loopback(numbers: set[int]) -> None:
    addresses = {address_of(number) for number in numbers}
    assert len(addresses) == len(numbers)
    assert all(isinstance(ip_address(each), IPv4Address) and ip_address(each).is_loopback for each in addresses)


@given(st.integers(0, 19), st.integers(0, 40))
@examples(30)
def test_a_turn_changes_one_endpoint_of_the_first_slice(number: int, turn: int) -> None:
    before, after = (changed_slice(SMALL, number, port=8080, turn=each) for each in (turn, turn + 1))
    assert before["metadata"] == after["metadata"] == next(slices_of(SMALL, number, port=8080))["metadata"]
    pairs = zip(before["endpoints"], after["endpoints"], strict=True)
    assert [old == new for old, new in pairs] == [False, *[True] * (len(before["endpoints"]) - 1)]


def test_what_nobody_follows_is_about_as_large_as_a_slice() -> None:
    sizes = [len(str(each)) for each in (unfollowed(1, 1), changed_slice(Shape(), 5, port=8080, turn=1))]
    assert 0.5 < sizes[0] / sizes[1] < 2
    assert unfollowed(1, 1) != unfollowed(1, 2)
