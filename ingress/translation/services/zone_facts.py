"""Collects facts about the zones of the cluster beyond endpoints, as far as a policy in force needs them.

These are CPU by zone, our own replicas by zone, and zones whose nodes go away. Facts that no policy needs are left
out, so that their changes do not change the model. Does not know what policies make of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

import msgspec

from balancer.model.zones import Zone, ZoneFacts, ZonePolicyName
from ingress.findings import Findings
from ingress.objects.kinds import Node
from ingress.objects.names import LABEL_VALUE
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.zones import ZoneFactSettings
from ingress.sources.inventory import Inventory
from ingress.translation.cluster.drains import zones_drained
from ingress.translation.cluster.replica_zones import ReplicaZones
from ingress.translation.cluster.zones import zone_of
from ingress.translation.services.endpoints import endpoints_of

# topologycache.go: nodes with one of these labels run no workload, whatever its value.
_CONTROL_PLANE_LABELS = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")

# An int64, as each amount is (quantity.go). Their sum has to fit on the way to a worker, whatever nodes claim.
_CPU_MILLI_MOST = 2**63 - 1

_ZoneCounts = tuple[tuple[Zone, int], ...]


def zone_facts(
    inventory: Inventory,
    settings: ClusterSettings,
    *,
    policies: Collection[ZonePolicyName],
    replicas_of: tuple[str, str] | None,
    now_epoch_seconds: float,
) -> ZoneFacts:
    """The facts that these policies need, and the operator's settings.

    `replicas_of` is our own Service by namespace and name, or None if nothing needs our replicas. `now_epoch_seconds`
    decides which drains are over. While the flag is off only prices are included, because traffic costs the same.
    """
    said = settings.zone_facts
    if not settings.zone_aware_routing:
        return _with_fleet(ZoneFacts(prices=said.prices), said)
    facts = ZoneFacts(
        cpu_milli=cpu_by_zone(inventory.of(Node)) if ZonePolicyName.ALLOCATE in policies else None,
        replicas=replicas_by_zone(inventory, replicas_of),
        drained=zones_drained(said.drains, now_epoch_seconds=now_epoch_seconds),
        drain_ramp_seconds=said.drain_ramp_seconds,
        drained_replicas_leave=said.drained_replicas_leave,
        leaving=zones_leaving(inventory.of(Node)) if set(policies) - {ZonePolicyName.OFF} else (),
        prices=said.prices,
    )
    return _with_fleet(facts, said)


def replica_zones(
    inventory: Inventory,
    own_service: tuple[str, str] | None,
    settings: ClusterSettings,
    *,
    now_epoch_seconds: float,
) -> ReplicaZones | None:
    """Where our replicas are, before endpoints are counted.

    None where it does not matter: without zone-aware routing no request stays where it enters.
    """
    if own_service is None or not settings.zone_aware_routing:
        return None
    drained = zones_drained(settings.zone_facts.drains, now_epoch_seconds=now_epoch_seconds)
    return ReplicaZones(drained=frozenset(drained)).with_own(replicas_by_zone(inventory, own_service))


def _with_fleet(facts: ZoneFacts, said: ZoneFactSettings) -> ZoneFacts:
    return msgspec.structs.replace(
        facts,
        fleet=said.fleet,
        fleet_failures=said.fleet_failures,
        fleet_loads=said.fleet_loads,
        fleet_zones=said.fleet_zones,
        fleet_readiness=said.fleet_readiness,
        client_networks=said.client_networks,
    )


def cpu_by_zone(nodes: Iterable[Node]) -> _ZoneCounts | None:
    """Allocatable CPU of the ready nodes that run workload, in thousandths by zone, sorted.

    None if a node has no status (only its metadata is known), if such a node lacks a zone or CPU, or if there are no
    such nodes. Unschedulable nodes count.
    Source: k8s.io/endpointslice, topologycache.go SetNodes.
    """
    cpu = Counter[Zone]()
    for node in nodes:
        if any(label in node.metadata.labels for label in _CONTROL_PLANE_LABELS):
            continue
        if node.status is None:
            return None
        if not node.status.ready:
            continue
        zone = zone_of(node)
        if zone is None or not LABEL_VALUE.fullmatch(zone) or not node.status.cpu_milli:
            return None
        cpu[zone] = min(cpu[zone] + node.status.cpu_milli, _CPU_MILLI_MOST)
    return tuple(sorted(cpu.items())) or None


def zones_leaving(nodes: Iterable[Node]) -> tuple[Zone, ...]:
    """The zones where at least half of the known nodes are said to go away or to be lost, sorted."""
    known, leaving = Counter[Zone](), Counter[Zone]()
    for node in nodes:
        zone = zone_of(node)
        if zone is not None and LABEL_VALUE.fullmatch(zone):
            known[zone] += 1
            leaving[zone] += node.leaving
    return tuple(sorted(zone for zone, count in known.items() if leaving[zone] * 2 >= count))


def replicas_by_zone(inventory: Inventory, own_service: tuple[str, str] | None) -> _ZoneCounts | None:
    """The ready endpoints of our own Service by zone, sorted; None if there are none or a zone is unknown.

    Only those of its first TCP port, so that a pod counts once.
    """
    service = inventory.service(*own_service) if own_service else None
    port = next((port for port in service.spec.ports if port.protocol == "TCP"), None) if service else None
    if service is None or port is None:
        return None
    # No connection is made to these endpoints. The backends that use them report their findings.
    found = endpoints_of(service, port, inventory=inventory, allow_local=True, findings=Findings())
    counts = Counter(endpoint.zone for endpoint in found if endpoint.ready)
    known = tuple((zone, count) for zone, count in counts.items() if zone is not None)
    return tuple(sorted(known)) if known and None not in counts else None
