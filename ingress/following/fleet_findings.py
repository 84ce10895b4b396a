"""Says as findings what the replicas know together: crowds, expired certificates, and zones that are sick for all.

`ingress/replicas` decides about each. No text follows a number, because each new text would be another Event.
"""

from __future__ import annotations

from collections.abc import Iterable

from ingress.findings import Finding, Severity


def finding_of_crowd(replicas_most: int) -> Finding:
    """There are more replicas than tell each other, which are `replicas_most` and this one."""
    return Finding(
        kind="Option",
        namespace="",
        name="--peer-port",
        reason="FleetTooLarge",
        message=f"There are more replicas than the {replicas_most + 1} that tell each other: use fewer, larger ones, "
        "or divide them into several ingresses, each with a Service and --publish-service of its own.",
        effect="The replicas beyond decide as each of them does alone; limits with limit-scope: fleet let more pass.",
        severity=Severity.DEGRADED,
    )


def findings_of_expired(places: Iterable[str]) -> tuple[Finding, ...]:
    """Other replicas are not believed because their certificates have expired. A place is `HOST:PORT`."""
    return tuple(
        Finding(
            kind="Replica",
            namespace="",
            name=place,
            reason="ReplicaCertificateExpired",
            message=f"The certificate of the replica at {place} has expired by the clock of this host. A replica makes "
            "its certificate when it starts: compare the clocks, and start the replica anew.",
            effect="The replica is neither heard nor told, and decides as alone; all others go on.",
            severity=Severity.DEGRADED,
        )
        for place in places
    )


def findings_of_events(zones: Iterable[str]) -> tuple[Finding, ...]:
    """These zones are sick for the fleet."""
    return tuple(
        Finding(
            kind="Zone",
            namespace="",
            name=zone,
            reason="ZoneEvent",
            message=f"Replicas agree that answers of many Services fail in {zone}: of at least 30 % of those with "
            "endpoints there. Look at the zone, not at the Services; docs/fleet.md#zones-that-are-sick says what "
            "follows.",
            effect="requests of each of these Services leave the zone as far as its policy lets them",
            severity=Severity.DEGRADED,
        )
        for zone in sorted(zones)
    )
