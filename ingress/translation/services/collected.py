"""Collects what routes ask of backends during one translation: Services that were looked for, and backends of them.

What the hosts of the last translation have asked can be taken over as a whole, because most of them ask the same again.
"""

from __future__ import annotations

import msgspec

from balancer.model.endpoints import Backend, BackendKey
from ingress.objects.kinds import ServicePort
from ingress.translation.memory import Notes

Place = tuple[str, str]
"""Namespace and name."""


class Collected(msgspec.Struct):
    """`made` are the backends by their keys, `ports` the ports of those whose Service has slices, and `slice_findings`
    what is to be said about these.

    `names` are DNS names outside of the cluster, by namespace. `looked_for` are Services, whether they exist or not.
    """

    made: dict[BackendKey, Backend] = {}
    ports: dict[BackendKey, ServicePort] = {}
    slice_findings: dict[BackendKey, Notes] = {}
    names: set[Place] = msgspec.field(default_factory=set)
    looked_for: set[Place] = msgspec.field(default_factory=set)

    def copy(self) -> Collected:
        """Another one with all that was collected until now."""
        found = Collected()
        found.add(self)
        return found

    def add(self, other: Collected) -> None:
        """Takes all of `other` as well. What both have is equal."""
        self.made = other.made | self.made
        self.ports = other.ports | self.ports
        self.slice_findings = other.slice_findings | self.slice_findings
        self.names |= other.names
        self.looked_for |= other.looked_for

    def by_service(self) -> dict[Place, list[BackendKey]]:
        """The backends of each Service with slices, by namespace and name, sorted by key."""
        found: dict[Place, list[BackendKey]] = {}
        for key in sorted(self.ports):
            backend = self.made[key]
            found.setdefault((backend.namespace, backend.service), []).append(key)
        return found
