"""The policy `ordered`: the first label in a list that own node and endpoints have in common.

The rules of `spec.topologyKeys` (Kubernetes 1.17 to 1.21). Strict: where no key matches, nothing serves, unless the
list ends in `*`.
"""

from __future__ import annotations

from balancer.model import Endpoint, ZonePolicy
from balancer.zones.reasons import Reason
from balancer.zones.verdicts import Surroundings, Verdict

ANY = "*"
"""The key that every endpoint matches, whatever is known of it or of us."""

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def judge(ready: tuple[Endpoint, ...], around: Surroundings, policy: ZonePolicy) -> Verdict:
    """The endpoints that match the first key with a match; every one for `*` and an empty list; otherwise none."""
    for key in policy.keys:
        if key == ANY:
            return Verdict(None, Reason.ORDERED_MATCH)
        wanted = _value(key, labels=around.own.labels, node=around.own.node, zone=around.own.zone)
        matching = tuple(endpoint for endpoint in ready if wanted is not None and _value_of(endpoint, key) == wanted)
        if matching:
            return Verdict(matching, Reason.ORDERED_MATCH)
    return Verdict((), Reason.ORDERED_NONE) if policy.keys else Verdict(None, Reason.ORDERED_MATCH)


def _value_of(endpoint: Endpoint, key: str) -> str | None:
    return _value(key, labels=endpoint.labels, node=endpoint.node, zone=endpoint.zone)


def _value(key: str, *, labels: tuple[tuple[str, str], ...], node: str | None, zone: str | None) -> str | None:
    """Node and zone are known also where the node's labels are not; and the own zone may be set by hand."""
    if key == HOSTNAME and node is not None:
        return node
    if key == ZONE and zone is not None:
        return zone
    return dict(labels).get(key)
