"""What is wrong with the endpoints of a Service: one finding for each reason, which names the repair."""

from __future__ import annotations

import pytest

from balancer.model.zones import ZonePolicy, ZonePolicyName
from ingress.findings import Finding, Findings, Severity
from ingress.objects.kinds import EndpointSlice, Service, ServicePort, SlicePort
from ingress.translation.services.endpoint_findings import PortEndpoints, note_endpoints
from ingress.translation.services.endpoints import endpoints_of
from tests.unit.ingress.cluster import endpoint, endpoint_slice, hints, inventory, service

OFF, ADAPTIVE, HINTS = map(ZonePolicy, (ZonePolicyName.OFF, ZonePolicyName.ADAPTIVE, ZonePolicyName.HINTS))
AUTO = ZonePolicy(ZonePolicyName.PREFER_ZONE, heeds_hints=True)
HTTP, ADMIN = ServicePort(80, "http"), ServicePort(81, "admin")
BOTH = (SlicePort("http", 8080), SlicePort("admin", 8081))


def found(
    *slices: EndpointSlice,
    of: Service | None = None,
    ports: tuple[ServicePort, ...] = (HTTP,),
    minds_zones: bool = True,
    policies: tuple[ZonePolicy, ...] = (),
) -> tuple[Finding, ...]:
    """The findings about a Service with these slices, apart from those about single endpoints."""
    item = of or service()
    known, findings = inventory(item, *slices), Findings()
    made = [
        PortEndpoints(
            port,
            endpoints_of(item, port, inventory=known, allow_local=False, findings=Findings()),
            minds_zones,
            frozenset(policies),
        )
        for port in ports
    ]
    note_endpoints(item, made, slices=slices, findings=findings)
    return findings.frozen()


def empty(name: str = "cart-1") -> EndpointSlice:
    """What the EndpointSlice controller writes for a Service whose selector matches no pod."""
    item = endpoint_slice(name)
    return EndpointSlice(item.metadata, "IPv4", (), ())


@pytest.mark.parametrize(
    ("slices", "of", "reason", "words"),
    [
        ((), None, "EndpointSliceMissing", ["no EndpointSlice", "kubernetes.io/service-name: cart"]),
        ((endpoint_slice(),), service(families=("IPv6",)), "EndpointSliceMissing", ["addressType IPv6", "ipFamilies"]),
        ((empty(),), None, "NoReadyEndpoint", ["has no endpoint", "selector"]),
        (
            (endpoint_slice(ports=(SlicePort("web", 8080), SlicePort("", 8081))),),
            None,
            "EndpointPortMissing",
            ['port 80 named "http"', 'one without a name, "web"', "same name"],
        ),
        ((endpoint_slice("cart-1", endpoint(ready=False)),), None, "NoReadyEndpoint", ["is ready on port 80", "pods"]),
        ((endpoint_slice("cart-1", endpoint("127.0.0.1")),), None, "EndpointRefused", ["address may be used"]),
        ((endpoint_slice("cart-1", endpoint(ready=False)), empty("cart-2")), None, "NoReadyEndpoint", ["is ready"]),
    ],
)
def test_a_service_that_nobody_answers_is_told_why_and_what_to_do(
    slices: tuple[EndpointSlice, ...], of: Service | None, reason: str, words: list[str]
) -> None:
    (finding,) = found(*slices, of=of)
    assert (finding.kind, finding.namespace, finding.name) == ("Service", "shop", "cart")
    assert (finding.reason, finding.severity) == (reason, Severity.CLOSED)
    assert finding.effect == "Requests for the Service are answered with 503."
    assert "shop/cart" in finding.message
    assert all(word in finding.message for word in words), finding.message


def test_ports_that_fail_for_one_reason_are_one_finding() -> None:
    slices = endpoint_slice("cart-1", endpoint(ready=False), ports=BOTH)
    (finding,) = found(slices, ports=(HTTP, ADMIN))
    assert "ports 80, 81" in finding.message


def test_a_port_that_nobody_answers_is_told_beside_one_that_serves() -> None:
    (finding,) = found(endpoint_slice("cart-1", endpoint(zone="zone-a")), ports=(HTTP, ADMIN))
    assert finding.reason == "EndpointPortMissing"
    assert 'port 81 named "admin"' in finding.message


def test_ports_of_other_slices_are_named_up_to_a_limit() -> None:
    ports = tuple(SlicePort(f"p{number:02}", 8000 + number) for number in range(30))
    (finding,) = found(endpoint_slice(ports=ports))
    assert '"p09", others' in finding.message
    assert "p10" not in finding.message


def test_an_endpoint_that_still_serves_while_it_terminates_answers() -> None:
    ending = endpoint(ready=False, serving=True, terminating=True, zone="zone-a")
    assert found(endpoint_slice("cart-1", ending)) == ()


@pytest.mark.parametrize(
    ("zones", "words"), [(("", "zone-a"), "Some endpoints"), (("", ""), "All endpoints"), (("zone-a",), None)]
)
def test_endpoints_without_a_zone_are_one_finding(zones: tuple[str, ...], words: str | None) -> None:
    endpoints = (endpoint(f"10.0.0.{number}", zone=zone) for number, zone in enumerate(zones, 1))
    findings = found(endpoint_slice("cart-1", *endpoints))
    assert [finding.reason for finding in findings] == (["EndpointZoneMissing"] if words else [])
    for finding in findings:
        assert finding.severity is Severity.DEGRADED
        assert finding.message.startswith(f"{words} of Service shop/cart have no zone")
        assert "topology.kubernetes.io/zone" in finding.message


def test_how_many_endpoints_there_are_changes_no_finding() -> None:
    """Each step of a rollout would be a new log line otherwise."""
    one, many = ([endpoint(f"10.0.0.{number}") for number in range(1, count)] for count in (2, 9))
    assert found(endpoint_slice("cart-1", *one)) == found(endpoint_slice("cart-1", *many))


def test_where_no_zone_policy_chooses_a_zone_is_not_missed() -> None:
    assert found(endpoint_slice(), minds_zones=False) == ()


def test_hints_that_no_policy_reads_are_told_with_the_policies() -> None:
    hinted = endpoint("10.0.0.1", zone="zone-a", hints=hints("zone-a"))
    unready = endpoint("10.0.0.2", zone="zone-a", ready=False)
    [finding] = found(endpoint_slice("cart-1", hinted, unready), policies=(OFF, ADAPTIVE, HINTS, AUTO))
    assert (finding.reason, finding.severity) == ("HintsUnread", Severity.DEGRADED)
    assert "shop/cart has hints, which the zone policy adaptive and off does not read" in finding.message


def test_hints_that_are_read_or_incomplete_are_no_finding() -> None:
    hinted = endpoint("10.0.0.1", zone="zone-a", hints=hints("zone-a"))
    assert found(endpoint_slice("cart-1", hinted)) == ()
    assert found(endpoint_slice("cart-1", hinted), policies=(HINTS, AUTO)) == ()
    other = endpoint("10.0.0.2", zone="zone-b")
    assert found(endpoint_slice("cart-1", hinted, other), policies=(ADAPTIVE,)) == ()
