"""Zones as the cluster states them: our own, a node's, and the policy that holds for a backend or a route.

Responsible for precedence between the sources of each. It must not know how a policy chooses an endpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from balancer.model import ZONES_OFF, OwnZone, Zone, ZonePolicy
from ingress.findings import Report, quote
from ingress.inventory import Inventory
from ingress.names import LABEL_VALUE
from ingress.objects import Node
from ingress.settings import ClusterSettings
from ingress.translation.context import TranslationContext

# The second one is what clusters before 1.17 wrote; some providers still do.
_ZONE_LABELS = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")


def own_zone(inventory: Inventory, context: TranslationContext) -> OwnZone:
    """The zone of this replica: the flag, else the label of its Node, else of its pod (KEP-4742), else unknown."""
    node = inventory.node(context.node_name) if context.node_name else None
    answers = (("flag", context.zone), ("node", zone_of(node)), ("pod", context.pod_zone))
    for source, zone in answers:
        if zone:
            return OwnZone(zone=Zone(zone), source=source, node=context.node_name)
    return OwnZone(node=context.node_name)


def zone_of(node: Node | None) -> Zone | None:
    """The zone that a Node's labels state, the new label before the old one."""
    labels = node.metadata.labels if node else {}
    return next((Zone(labels[name]) for name in _ZONE_LABELS if labels.get(name)), None)


def checked_zone(zone: str | None, report: Report) -> Zone | None:
    """`zone` if it can be the value of a label; otherwise unknown, because it ends up in metrics and logs."""
    if not zone or LABEL_VALUE.fullmatch(zone):
        return Zone(zone) if zone else None
    report.add(
        reason="InvalidZone",
        message=f"{quote(zone)} is not the name of a zone: use letters, digits, -, _ and .",
        effect="The zone of the endpoint counts as unknown.",
    )
    return None


def backend_policy(settings: ClusterSettings, service_overrides: Mapping[str, Any]) -> ZonePolicy:
    """The policy of a backend: the ConfigMap's, overridden by its Service; off while the flag is off."""
    if not settings.zone_aware_routing:
        return ZONES_OFF
    return msgspec.structs.replace(settings.zone_policy, **service_overrides)


def route_policy(
    settings: ClusterSettings, backend: ZonePolicy, *, ingress_overrides: Mapping[str, Any]
) -> ZonePolicy | None:
    """The policy of a route over its backend's; None where the Ingress changes nothing or the flag is off."""
    if not settings.zone_aware_routing or not ingress_overrides:
        return None
    overridden = msgspec.structs.replace(backend, **ingress_overrides)
    return None if overridden == backend else overridden
