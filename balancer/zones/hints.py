"""The policy `hints`: reads the hints of EndpointSlices exactly as kube-proxy 1.36 does.

From kube-proxy's topology.go, KEP-2433 (zones) and KEP-3015 (nodes). It does not matter who wrote the hints and why,
nor in which zone an endpoint is: if hint and zone differ, the hint wins.
"""

from __future__ import annotations

from balancer.model.endpoints import Endpoint
from balancer.model.zones import ZonePolicy
from balancer.zones.reasons import Reason
from balancer.zones.verdicts import Surroundings, Verdict


def are_complete(ready: tuple[Endpoint, ...]) -> bool:
    """Whether every one of these ready endpoints has hints of one kind, so that kube-proxy would follow them."""
    by_zone = all(endpoint.hint_zones for endpoint in ready)
    return bool(ready) and (by_zone or all(endpoint.hint_nodes for endpoint in ready))


def judge(ready: tuple[Endpoint, ...], around: Surroundings, policy: ZonePolicy) -> Verdict:
    """The endpoints hinted for the own node, else those hinted for the own zone, else all endpoints and the reason.

    A kind of hint counts only if every ready endpoint has it. An endpoint without a hint means that a change is under
    way.
    """
    if all(endpoint.hint_nodes for endpoint in ready):
        here = tuple(endpoint for endpoint in ready if around.own.node in endpoint.hint_nodes)
        if here:
            return Verdict(here, Reason.NODE_LOCAL)
    if all(endpoint.hint_zones for endpoint in ready):
        return _by_zone(ready, around)
    return Verdict(None, _what_is_missing(ready))


def _by_zone(ready: tuple[Endpoint, ...], around: Surroundings) -> Verdict:
    if around.own.zone is None:
        return Verdict(None, Reason.OWN_ZONE_UNKNOWN)
    hinted = tuple(endpoint for endpoint in ready if around.own.zone in endpoint.hint_zones)
    if not hinted:
        return Verdict(None, Reason.ZONE_NOT_HINTED)
    return Verdict(hinted, Reason.ZONE_HINTED)


def _what_is_missing(ready: tuple[Endpoint, ...]) -> Reason:
    if not any(endpoint.hint_nodes or endpoint.hint_zones for endpoint in ready):
        return Reason.NO_HINTS
    if all(endpoint.hint_nodes for endpoint in ready) and not any(endpoint.hint_zones for endpoint in ready):
        return Reason.ZONE_NOT_HINTED  # hints for other nodes only: nothing is missing, but none is for this node
    return Reason.HINT_MISSING_ON_READY_ENDPOINT
