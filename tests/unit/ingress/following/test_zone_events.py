"""A finding for each zone that is sick for the fleet, whose text stays the same."""

from __future__ import annotations

from ingress.findings import Severity
from ingress.following.zone_events import REASON, findings_of_events


def test_each_zone_is_named_once() -> None:
    found = findings_of_events(["zone-b", "zone-a"])
    assert [(each.kind, each.name, each.reason) for each in found] == [
        ("Zone", "zone-a", REASON),
        ("Zone", "zone-b", REASON),
    ]
    assert {each.severity for each in found} == {Severity.DEGRADED}
    assert findings_of_events([]) == ()
