"""Reads zones from the cluster: the own zone, a node's zone, and whether a Service speaks of hints.

Decides the precedence of their sources. Does not know how a policy chooses an endpoint.
"""

from __future__ import annotations

from collections.abc import Collection

from balancer.model.zones import OwnZone, Zone
from ingress.findings import Report, Severity, quote
from ingress.objects.kinds import Node, Service
from ingress.objects.names import LABEL_VALUE
from ingress.settings.context import TranslationContext
from ingress.sources.inventory import Inventory

# The second label is from clusters before 1.17. Some providers still write it.
_ZONE_LABELS = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")

# The first is deprecated. If it is present, the second is ignored (k8s.io/endpointslice, topologycache/utils).
_HINT_ANNOTATIONS = ("service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode")
_HINTED = frozenset({"Auto", "auto", "Disabled", "disabled"})
# A heuristic of somebody else is named with a domain, such as example.com/mine (KEP-2433).
_OTHER_HEURISTIC = "/"
# v1 ServiceSpec; for any other value the EndpointSlice controller writes no hints.
_DISTRIBUTIONS = frozenset({"PreferClose", "PreferSameZone", "PreferSameNode"})


def own_zone(inventory: Inventory, context: TranslationContext, label_keys: Collection[str] = ()) -> OwnZone:
    """The zone of this replica: the flag, else the label of its Node, else of its pod (KEP-4742), else unknown.

    Includes those labels of its Node whose keys are given.
    """
    node = inventory.node(context.node_name) if context.node_name else None
    answers = (("flag", context.zone), ("node", zone_of(node)), ("pod", context.pod_zone))
    labels = labels_of(node, label_keys)
    for source, zone in answers:
        if zone:
            return OwnZone(zone=Zone(zone), source=source, node=context.node_name, labels=labels)
    return OwnZone(node=context.node_name, labels=labels)


def labels_of(node: Node | None, keys: Collection[str]) -> tuple[tuple[str, str], ...]:
    """The labels of a Node with these keys, sorted. Invalid values are left out."""
    labels = node.metadata.labels if node else {}
    found = ((key, labels[key]) for key in sorted(keys) if key in labels)
    return tuple((key, value) for key, value in found if not value or LABEL_VALUE.fullmatch(value))


def follows_hints(service: Service) -> bool:
    """Whether a Service speaks of topology hints, so that `auto` does for it exactly what kube-proxy does.

    It asks the EndpointSlice controller for hints, or a heuristic of somebody else, or it wants none (`Disabled`). No
    annotation decides about hints that are there: kube-proxy follows these (kubernetes/kubernetes#116522 and 1.31), and
    uses every endpoint without them. Nor does an annotation turn off `spec.trafficDistribution` (KEP-4444).
    """
    said = (service.metadata.annotations.get(name) for name in _HINT_ANNOTATIONS)
    mode = next((text for text in said if text is not None), "")
    return mode in _HINTED or _OTHER_HEURISTIC in mode or service.spec.traffic_distribution in _DISTRIBUTIONS


def zone_of(node: Node | None) -> Zone | None:
    """The zone in a Node's labels; the new label comes before the old one."""
    labels = node.metadata.labels if node else {}
    return next((Zone(labels[name]) for name in _ZONE_LABELS if labels.get(name)), None)


def checked_zone(zone: str | None, report: Report) -> Zone | None:
    """`zone` if it is a valid label value; else unknown, because zones appear in metrics and logs."""
    if not zone or LABEL_VALUE.fullmatch(zone):
        return Zone(zone) if zone else None
    report.add(
        reason="InvalidZone",
        message=f"{quote(zone)} is not the name of a zone: use letters, digits, -, _ and .",
        severity=Severity.DEGRADED,
        effect="The zone of the endpoint counts as unknown.",
    )
    return None
