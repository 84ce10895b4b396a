"""Makes a finding for each zone with endpoints and without a replica of zonal: its clients enter in other zones.

Does not know how replicas are found, nor zone policies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from balancer.model.zones import Zone
from ingress.findings import Finding, Findings, Severity, Subject, quote
from ingress.translation.cluster.zone_findings import counted

_REPAIR = "give the Deployment of zonal a replica there (at least one for each zone, and a topology spread constraint)"


class ReplicaZones(msgspec.Struct, frozen=True):
    """Where replicas of zonal are. `own` are their zones, empty if unknown, and `drained` those that are empty by wish.

    `services` counts the Services with an endpoint in each zone.
    """

    own: frozenset[Zone] = frozenset()
    drained: frozenset[Zone] = frozenset()
    services: Mapping[Zone, int] = {}

    def findings(self) -> tuple[Finding, ...]:
        """One finding for each zone without a replica."""
        findings = Findings()
        without = self.services.keys() - self.own - self.drained if self.own else ()
        for zone in sorted(without):
            findings.add(
                Subject("Zone", "", zone),
                reason="ZoneWithoutReplica",
                message=f"Zone {quote(zone)} has endpoints and no ready replica of zonal: {_REPAIR}.",
                effect="Clients of the zone enter in other zones and stay there: the way before zonal costs traffic "
                "between zones, and the endpoints of the zone get few requests.",
                severity=Severity.DEGRADED,
            )
        return findings.frozen()

    def changed(self, before: Iterable[frozenset[Zone]], after: Iterable[frozenset[Zone]]) -> ReplicaZones:
        """These facts after the zones of some Services have changed. Each item holds the zones of one Service."""
        return msgspec.structs.replace(self, services=counted(self.services, before, after))

    def with_own(self, replicas: Iterable[tuple[Zone, int]] | None) -> ReplicaZones:
        """These facts with other replicas, counted by zone."""
        return msgspec.structs.replace(self, own=frozenset(zone for zone, _ in replicas or ()))
