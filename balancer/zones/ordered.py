"""The policy `ordered`: the first label in a list for which the own node and some endpoints have the same value.

The rules of `spec.topologyKeys` (Kubernetes 1.17 to 1.21). A list is strict unless it ends in `*`: if no key matches,
no endpoint serves.
"""

from __future__ import annotations

from balancer.model.endpoints import Endpoint
from balancer.model.zones import ZonePolicy
from balancer.zones.reasons import Reason
from balancer.zones.verdicts import Surroundings, Verdict

ANY = "*"
"""The key that every endpoint matches, whatever is known about the endpoint or the own node."""

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def judge(ready: tuple[Endpoint, ...], around: Surroundings, policy: ZonePolicy) -> Verdict:
    """The endpoints that match the first key with a match; all for `*` or an empty list; else none."""
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
    """The value of a label. Node name and zone are known even without the node's labels; --zone may set the zone."""
    if key == HOSTNAME and node is not None:
        return node
    if key == ZONE and zone is not None:
        return zone
    return dict(labels).get(key)
