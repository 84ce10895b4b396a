"""Findings of requests, replicas and Leases are told together, each part until it is over."""

from __future__ import annotations

from balancer.workers.messages import ZoneEvidence, ZoneReport
from ingress.findings import Finding, Severity
from ingress.following.observed import Observed

LEFT = ZoneReport(
    namespace="shop",
    service="cart",
    backend="shop/cart:80",
    zone="zone-a",
    state="leaving",
    share=0.3,
    begun=ZoneEvidence(10, 5, 10, 0),
)
REFUSED = Finding("Lease", "zonal", "zonal-fleet", "FleetLeaseRefused", "no", "alone", Severity.DEGRADED)


def test_each_part_stays_until_it_changes() -> None:
    observed, told = Observed(), list[list[str]]()
    observed.see = lambda findings: told.append([each.reason for each in findings])
    observed.reported([LEFT], at_epoch_seconds=1.0)
    observed.sick_for_all(["zone-a"])
    observed.leases((REFUSED,))
    assert told[-1] == ["ZoneSick", "ZoneEvent", "FleetLeaseRefused"]
    assert observed.left == {("shop/cart:80", "zone-a")}
    observed.reported([], at_epoch_seconds=2.0)
    observed.sick_for_all([])
    assert told[-1] == ["FleetLeaseRefused"]
    assert observed.left == frozenset()
    observed.crowded(True)
    assert told[-1] == ["FleetLeaseRefused", "FleetTooLarge"]
    observed.crowded(False)
    assert told[-1] == ["FleetLeaseRefused"]
    observed.expired(("10.0.1.7:9443",))
    assert told[-1] == ["FleetLeaseRefused", "ReplicaCertificateExpired"]
    observed.expired(())
    assert told[-1] == ["FleetLeaseRefused"]
