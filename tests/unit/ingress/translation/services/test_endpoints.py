"""Endpoints are the union of a Service's slices, once by address and port, and never an address of our own."""

from __future__ import annotations

from itertools import permutations

import pytest

from balancer.model.endpoints import Endpoint
from balancer.model.zones import Zone
from ingress.findings import Finding, Findings
from ingress.objects.kinds import (
    EndpointSlice,
    KubernetesObject,
    Metadata,
    Service,
    ServicePort,
    ServiceSpec,
    SliceEndpoint,
    SlicePort,
    subject_of,
)
from ingress.translation.services.endpoints import endpoints_of, placed_on_nodes, service_endpoint
from tests.unit.ingress.cluster import (
    endpoint,
    endpoint_slice,
    full_node,
    hints,
    inventory,
    leaving_node,
    node,
    service,
)

HTTP = ServicePort(80, "http")


def of(
    *objects: KubernetesObject, item: Service | None = None, port: ServicePort = HTTP, allow_local: bool = False
) -> tuple[tuple[Endpoint, ...], tuple[Finding, ...]]:
    findings = Findings()
    found = endpoints_of(
        item or service(), port, inventory=inventory(*objects), allow_local=allow_local, findings=findings
    )
    return found, findings.frozen()


def addresses(*objects: KubernetesObject, item: Service | None = None, port: ServicePort = HTTP) -> list[str]:
    return [f"{found.address}:{found.port}" for found in of(*objects, item=item, port=port)[0]]


def test_all_slices_count_and_the_result_is_sorted() -> None:
    slices = endpoint_slice("b", endpoint("10.0.0.3"), endpoint("10.0.0.1")), endpoint_slice("a", endpoint("10.0.0.2"))
    assert addresses(*slices) == ["10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.3:8080"]


def test_slices_of_other_services_and_namespaces_do_not_count() -> None:
    assert addresses(endpoint_slice("a", of="other"), endpoint_slice("b", namespace="other")) == []


def test_the_port_is_the_slices_port_of_the_same_name() -> None:
    ports = (SlicePort("admin", 9000), SlicePort("http", 8080))
    assert addresses(endpoint_slice("a", ports=ports)) == ["10.0.0.1:8080"]
    assert addresses(endpoint_slice("a", ports=ports), port=ServicePort(81, "admin")) == ["10.0.0.1:9000"]
    assert addresses(endpoint_slice("a", ports=(SlicePort("", 8080),)), port=ServicePort(80)) == ["10.0.0.1:8080"]
    assert addresses(endpoint_slice("a", ports=ports), port=ServicePort(82, "none")) == []


@pytest.mark.parametrize(
    "port", [SlicePort("http"), SlicePort("http", 0), SlicePort("http", 65536), SlicePort("http", 80, "UDP")]
)
def test_a_port_that_cannot_be_connected_to_gives_no_endpoint(port: SlicePort) -> None:
    assert addresses(endpoint_slice("a", ports=(port,))) == []


def test_the_family_is_the_services_first_else_ipv4_before_ipv6() -> None:
    four, six = endpoint_slice("a"), endpoint_slice("b", endpoint("2001:db8::1"), family="IPv6")
    assert addresses(four, six, item=service(families=("IPv6", "IPv4"))) == ["2001:db8::1:8080"]
    assert addresses(six, four) == ["10.0.0.1:8080"]
    assert addresses(six) == ["2001:db8::1:8080"]
    assert addresses(four, item=service(families=("IPv6",))) == []


def test_only_the_first_address_counts() -> None:
    two = SliceEndpoint(("10.0.0.1", "10.0.0.2"))
    assert addresses(endpoint_slice("a", two)) == ["10.0.0.1:8080"]


@pytest.mark.parametrize(
    ("item", "ready", "serving_terminating"),
    [
        (endpoint(), True, False),
        (endpoint(ready=True, serving=True, terminating=False), True, False),
        (endpoint(ready=True, serving=True, terminating=True), True, False),
        (endpoint(ready=False, serving=True, terminating=True), False, True),
        (endpoint(ready=False, terminating=True), False, True),
    ],
)
def test_conditions_with_nil_as_the_api_says(item: SliceEndpoint, ready: bool, serving_terminating: bool) -> None:
    ((found,), _) = of(endpoint_slice("a", item))
    assert (found.ready, found.serving_terminating) == (ready, serving_terminating)


@pytest.mark.parametrize(
    "item",
    [
        endpoint(ready=False),
        endpoint(ready=False, serving=False),
        endpoint(ready=False, serving=True),
        endpoint(ready=False, serving=False, terminating=True),
    ],
)
def test_what_is_neither_ready_nor_serving_while_it_terminates_is_left_out(item: SliceEndpoint) -> None:
    assert addresses(endpoint_slice("a", item)) == []


def test_a_running_entry_beats_a_terminating_one_in_every_order() -> None:
    entries = (
        endpoint(ready=False, serving=True, terminating=True, zone="old"),
        endpoint(ready=True, zone="new"),
        endpoint(ready=True, terminating=True, zone="older"),
    )
    for order in permutations(entries):
        slices = [endpoint_slice(str(index), item) for index, item in enumerate(order)]
        ((found,), _) = of(*slices)
        assert (found.zone, found.ready) == ("new", True)


def test_a_running_entry_that_is_not_ready_hides_the_terminating_one_before_it() -> None:
    gone, starting = endpoint(ready=False, serving=True, terminating=True), endpoint(ready=False, serving=False)
    assert addresses(endpoint_slice("a", gone), endpoint_slice("b", starting)) == []


def test_one_address_in_two_spellings_is_one_endpoint() -> None:
    spellings = endpoint_slice("a", endpoint("2001:DB8::1"), endpoint("2001:db8:0::1"), family="IPv6")
    assert addresses(spellings) == ["2001:db8::1:8080"]


def test_the_zone_is_the_endpoints_else_its_nodes_else_unknown() -> None:
    items = endpoint_slice(
        "a",
        endpoint("10.0.0.1", zone="own", node="node-1"),
        endpoint("10.0.0.2", node="node-1"),
        endpoint("10.0.0.3", node="node-9"),
        endpoint("10.0.0.4"),
    )
    found, _ = of(items, node("node-1", "of-node"))
    assert [item.zone for item in found] == [Zone("own"), Zone("of-node"), None, None]
    assert [item.node for item in found] == ["node-1", "node-1", "node-9", None]


def test_a_zone_that_is_no_name_counts_as_unknown() -> None:
    ((found,), findings) = of(endpoint_slice("a", endpoint(zone="zone\r\n", node="no/node")))
    assert (found.zone, found.node) == (None, None)
    assert [finding.reason for finding in findings] == ["InvalidZone"]


LOCAL = [
    ("127.0.0.1", "IPv4"),
    ("127.9.9.9", "IPv4"),
    ("0.0.0.0", "IPv4"),
    ("169.254.0.1", "IPv4"),
    ("169.254.169.254", "IPv4"),
    ("224.0.0.1", "IPv4"),
    ("::1", "IPv6"),
    ("::", "IPv6"),
    ("fe80::1", "IPv6"),
    ("ff02::1", "IPv6"),
    ("fd00:ec2::254", "IPv6"),
    ("fd00:0ec2::0254", "IPv6"),
    ("::ffff:127.0.0.1", "IPv6"),
    ("::ffff:169.254.169.254", "IPv6"),
    ("100.100.100.200", "IPv4"),
    ("::ffff:100.100.100.200", "IPv6"),
    ("64:ff9b::169.254.169.254", "IPv6"),
    ("64:ff9b::100.100.100.200", "IPv6"),
    ("64:ff9b::7f00:1", "IPv6"),
    ("2002:a9fe:a9fe::1", "IPv6"),
    ("2002:7f00:1:ffff::", "IPv6"),
    ("::169.254.169.254", "IPv6"),
    ("::127.0.0.1", "IPv6"),
    ("2002:a00:7::1", "IPv6"),
    ("64:ff9b:1::a00:7", "IPv6"),
    ("64:ff9c::a9fe:a9fe", "IPv6"),
    ("168.63.129.16", "IPv4"),
    ("192.0.0.192", "IPv4"),
    ("fd20:ce::254", "IPv6"),
]


@pytest.mark.parametrize(("address", "family"), LOCAL)
def test_local_and_metadata_addresses_are_refused_with_a_finding(address: str, family: str) -> None:
    found, findings = of(endpoint_slice("a", endpoint(address), family=family))
    assert found == ()
    assert [finding.reason for finding in findings] == ["EndpointRefused"]


@pytest.mark.parametrize(("address", "family"), LOCAL)
def test_they_are_allowed_where_the_option_says_so(address: str, family: str) -> None:
    found, findings = of(endpoint_slice("a", endpoint(address), family=family), allow_local=True)
    assert len(found) == 1
    assert findings == ()


@pytest.mark.parametrize("address", ["64:ff9b::a00:7", "::a00:7", "2600::a9fe:a9fe", "fd00::a9fe:a9fe", "2001:db8::1"])
def test_an_address_that_only_resembles_or_holds_an_allowed_one_is_used(address: str) -> None:
    found, findings = of(endpoint_slice("a", endpoint(address), family="IPv6"))
    assert [item.address for item in found] == [address]
    assert findings == ()


@pytest.mark.parametrize(
    "address", ["", "nonsense", "10.0.0", "010.0.0.1", "10.0.0.1\n", "2001:db8::1", "fe80::1%eth0\r\n", "0x7f000001"]
)
@pytest.mark.parametrize("allow_local", [False, True])
def test_what_is_no_address_of_its_family_is_refused_always(address: str, allow_local: bool) -> None:
    found, findings = of(endpoint_slice("a", endpoint(address), endpoint("10.0.0.9")), allow_local=allow_local)
    assert [item.address for item in found] == ["10.0.0.9"]
    assert [finding.reason for finding in findings] == ["EndpointRefused"]


def test_a_scope_is_refused_always() -> None:
    found, _ = of(endpoint_slice("a", endpoint("fe80::1%eth0"), family="IPv6"), allow_local=True)
    assert found == ()


def test_an_endpoint_without_address_is_refused() -> None:
    empty: EndpointSlice = endpoint_slice("a", SliceEndpoint())
    assert of(empty)[0] == ()


def of_service(cluster_ip: str, *, allow_local: bool = False) -> tuple[Endpoint | None, tuple[Finding, ...]]:
    findings = Findings()
    item = Service(Metadata("cart", "shop"), ServiceSpec(cluster_ip=cluster_ip))
    report = findings.about(subject_of(item))
    return service_endpoint(item, HTTP, allow_local=allow_local, report=report), findings.frozen()


@pytest.mark.parametrize("address", ["10.96.0.7", "fd00::7"])
def test_a_service_itself_is_one_endpoint_of_unknown_zone(address: str) -> None:
    assert of_service(address) == (Endpoint(address, 80), ())


@pytest.mark.parametrize("address", ["", "None", "127.0.0.1", "169.254.169.254"])
def test_a_service_without_an_address_of_its_own_is_none(address: str) -> None:
    found, (finding,) = of_service(address)
    assert found is None
    assert finding.reason == "NoClusterIP"


def test_a_local_address_of_a_service_needs_the_option() -> None:
    assert of_service("127.0.0.1", allow_local=True) == (Endpoint("127.0.0.1", 80), ())


def test_hints_come_with_the_endpoint() -> None:
    ((found,), findings) = of(endpoint_slice("a", endpoint(hints=hints("b", "a", nodes=["node-1"]))))
    assert (found.hint_zones, found.hint_nodes) == (("a", "b"), ("node-1",))
    assert findings == ()


def test_hints_of_the_wrong_shape_are_a_finding_and_count_as_none() -> None:
    good, bad = endpoint("10.0.0.1", hints=hints("a")), endpoint("10.0.0.2", hints={"forZones": ["a"]})
    found, (finding,) = of(endpoint_slice("a", good, bad))
    assert [item.hint_zones for item in found] == [("a",), ()]
    assert finding.reason == "InvalidHints"
    assert '"10.0.0.2"' in finding.message


def test_of_equal_entries_with_other_hints_the_same_is_kept_in_every_order() -> None:
    entries = [endpoint(hints=hints("a")), endpoint(hints=hints("b")), endpoint(hints=hints("a", nodes=["n"]))]
    kept = set()
    for order in permutations(entries):
        found, _ = of(*(endpoint_slice(str(index), item) for index, item in enumerate(order)))
        kept.add(found)
    assert len(kept) == 1


def test_labels_are_those_of_the_endpoints_node_that_were_asked_for() -> None:
    known = inventory(
        full_node("node-1", "zone-a", labels={"rack": "r1", "other": "x"}),
        endpoint_slice(
            "a", endpoint("10.0.0.1", node="node-1"), endpoint("10.0.0.2", node="node-2"), endpoint("10.0.0.3")
        ),
    )
    bare = endpoints_of(service(), HTTP, inventory=known, allow_local=False, findings=Findings())
    assert [item.labels for item in placed_on_nodes(bare, {"rack"}, known)] == [(("rack", "r1"),), (), ()]
    assert placed_on_nodes(bare, (), known) == bare


def test_an_endpoint_says_that_its_node_goes_away() -> None:
    bare = (Endpoint("10.0.0.1", 80, node="node-1"), Endpoint("10.0.0.2", 80, node="node-2"), Endpoint("10.0.0.3", 80))
    known = inventory(leaving_node("node-1", "zone-a"), full_node("node-2", "zone-a"))
    assert [item.leaving for item in placed_on_nodes(bare, (), known)] == [True, False, False]
