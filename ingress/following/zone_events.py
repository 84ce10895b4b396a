"""Says which zones are sick for the fleet, as findings. `ingress/replicas/zone_events.py` decides that."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ingress.findings import Finding, Severity

REASON: Final = "ZoneEvent"


def findings_of_events(zones: Iterable[str]) -> tuple[Finding, ...]:
    """A finding for each zone. The text does not follow numbers, because each new text would be another Event."""
    return tuple(
        Finding(
            kind="Zone",
            namespace="",
            name=zone,
            reason=REASON,
            message=f"Replicas agree that answers of many Services fail in {zone}: of at least 30 % of those with "
            "endpoints there. Look at the zone, not at the Services; docs/fleet.md#zones-that-are-sick says what "
            "follows.",
            effect="requests of each of these Services leave the zone as far as its policy lets them",
            severity=Severity.DEGRADED,
        )
        for zone in sorted(zones)
    )
