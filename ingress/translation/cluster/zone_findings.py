"""Makes findings about the zone of this replica: it is unknown, or nothing is in it.

Names the repair: the label of a Node, or an option. Does not know zone policies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from balancer.model.zones import OwnZone, Zone
from ingress.findings import Finding, Findings, Severity, Subject, quote
from ingress.objects.kinds import Kind, Node
from ingress.settings.context import TranslationContext
from ingress.settings.table.cluster import ClusterSettings
from ingress.sources.inventory import Inventory
from ingress.translation.cluster.zones import zone_of

ZONE_OPTION = Subject("Option", "", "--zone")
"""The subject of findings about the value of `--zone`, which no object of the cluster holds."""

_ZONES_NAMED = 10


def note_unknown_zone(
    own: OwnZone,
    inventory: Inventory,
    context: TranslationContext,
    *,
    settings: ClusterSettings,
    findings: Findings,
) -> None:
    """Notes that the own zone is unknown, if zone-aware routing is on."""
    if own.zone is not None or not settings.zone_aware_routing:
        return
    if not context.node_name:
        subject = Subject(Kind.CONFIG_MAP.value, *_reference(context.configmap))
        problem = "zone-aware-routing is on, but this replica does not know its own zone: start it with --zone"
        problem += " or --node-name"
    elif inventory.node(context.node_name) is None:
        subject = Subject(Kind.NODE.value, "", context.node_name)
        problem = f"No Node {quote(context.node_name)} can be read: correct --node-name, allow zonal to read Nodes, or"
        problem += " start it with --zone"
    else:
        subject = Subject(Kind.NODE.value, "", context.node_name)
        problem = f"Node {quote(context.node_name)} has no label topology.kubernetes.io/zone: label it, or start zonal"
        problem += " with --zone"
    findings.add(
        subject,
        reason="OwnZoneUnknown",
        message=f"{problem}.",
        effect="No zone policy prefers any zone.",
        severity=Severity.DEGRADED,
    )


class GivenZone(msgspec.Struct, frozen=True):
    """The zone of `--zone`, while no Node is known to be in it.

    `node_zones` are the zones of the known Nodes. `services` counts the Services with an endpoint in each zone, so that
    a change of one Service can be judged without the others.
    """

    zone: Zone
    node_zones: frozenset[Zone] = frozenset()
    services: Mapping[Zone, int] = {}

    def findings(self) -> tuple[Finding, ...]:
        """One finding if endpoints or Nodes are in other zones and none is in this one."""
        others = sorted(self.node_zones | self.services.keys())
        if self.zone in self.services or not others:
            return ()
        named = ", ".join(map(quote, others[:_ZONES_NAMED])) + (", …" if len(others) > _ZONES_NAMED else "")
        findings = Findings()
        findings.add(
            ZONE_OPTION,
            reason="OwnZoneEmpty",
            message=(
                f"No Node and no endpoint is known to be in zone {quote(self.zone)}: correct --zone if that is not the "
                f"zone of this replica (known zones: {named})."
            ),
            effect="No endpoint counts as local.",
            severity=Severity.DEGRADED,
        )
        return findings.frozen()

    def changed(self, before: Iterable[frozenset[Zone]], after: Iterable[frozenset[Zone]]) -> GivenZone:
        """The given zone after the zones of some Services have changed. Each item holds the zones of one Service."""
        return msgspec.structs.replace(self, services=counted(self.services, before, after))


def counted(
    services: Mapping[Zone, int], before: Iterable[frozenset[Zone]], after: Iterable[frozenset[Zone]]
) -> Mapping[Zone, int]:
    """`services`, Services by zone, after the zones of some have changed. Each item holds the zones of one Service."""
    change = Counter(zone for zones in after for zone in zones)
    change.subtract(zone for zones in before for zone in zones)
    if not any(change.values()):
        return services
    counts = {zone: services.get(zone, 0) + number for zone, number in change.items()}
    return {zone: count for zone, count in {**services, **counts}.items() if count}


def given_zone(inventory: Inventory, context: TranslationContext) -> GivenZone | None:
    """The zone of `--zone`, before endpoints are counted; None without `--zone`, or if a Node is in the zone."""
    if not context.zone:
        return None
    node_zones = frozenset(zone for node in inventory.of(Node) if (zone := zone_of(node)))
    return None if context.zone in node_zones else GivenZone(Zone(context.zone), node_zones)


def _reference(text: str) -> tuple[str, str]:
    namespace, _, name = text.partition("/")
    return namespace, name
