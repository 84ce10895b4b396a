"""Says which other replicas are not believed because their certificates have expired. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ingress.findings import Finding, Severity

REASON: Final = "ReplicaCertificateExpired"


def findings_of_expired(places: Iterable[str]) -> tuple[Finding, ...]:
    """A finding for each replica, which is named by its place (`HOST:PORT`)."""
    return tuple(
        Finding(
            kind="Replica",
            namespace="",
            name=place,
            reason=REASON,
            message=f"The certificate of the replica at {place} has expired by the clock of this host. A replica makes "
            "its certificate when it starts: compare the clocks, and start the replica anew.",
            effect="The replica is neither heard nor told, and decides as alone; all others go on.",
            severity=Severity.DEGRADED,
        )
        for place in places
    )
