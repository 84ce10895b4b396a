"""A replica whose certificate has expired is named."""

from __future__ import annotations

from ingress.following.expired_replicas import REASON, findings_of_expired


def test_each_replica_has_a_finding_of_its_own() -> None:
    found = findings_of_expired(["10.0.1.7:9443", "10.0.2.7:9443"])
    assert [(each.reason, each.name) for each in found] == [(REASON, "10.0.1.7:9443"), (REASON, "10.0.2.7:9443")]
    assert "10.0.1.7:9443 has expired" in found[0].message
