"""More replicas than tell each other are a finding that says what to do."""

from __future__ import annotations

from ingress.findings import Severity
from ingress.following.crowded_fleet import finding_of_crowd


def test_the_finding_names_the_bound_and_the_repair() -> None:
    found = finding_of_crowd(64)
    assert (found.kind, found.name, found.severity) == ("Option", "--peer-port", Severity.DEGRADED)
    assert "more replicas than the 65" in found.message
    assert "fewer, larger ones" in found.message
