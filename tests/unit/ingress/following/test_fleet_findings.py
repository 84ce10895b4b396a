"""What the replicas know together is told of each object once, and says what to do."""

from __future__ import annotations

from ingress.findings import Severity
from ingress.following.fleet_findings import finding_of_crowd, findings_of_events, findings_of_expired


def test_the_finding_of_a_crowd_names_the_bound_and_the_repair() -> None:
    found = finding_of_crowd(64)
    assert (found.kind, found.name, found.severity) == ("Option", "--peer-port", Severity.DEGRADED)
    assert "more replicas than the 65" in found.message
    assert "fewer, larger ones" in found.message


def test_each_expired_replica_has_a_finding_of_its_own() -> None:
    found = findings_of_expired(["10.0.1.7:9443", "10.0.2.7:9443"])
    assert [(each.reason, each.name) for each in found] == [
        ("ReplicaCertificateExpired", "10.0.1.7:9443"),
        ("ReplicaCertificateExpired", "10.0.2.7:9443"),
    ]
    assert "10.0.1.7:9443 has expired" in found[0].message


def test_each_sick_zone_is_named_once() -> None:
    found = findings_of_events(["zone-b", "zone-a"])
    assert [(each.kind, each.name, each.reason) for each in found] == [
        ("Zone", "zone-a", "ZoneEvent"),
        ("Zone", "zone-b", "ZoneEvent"),
    ]
    assert {each.severity for each in found} == {Severity.DEGRADED}
    assert findings_of_events([]) == ()
