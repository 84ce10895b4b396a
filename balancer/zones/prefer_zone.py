"""The policy `prefer-zone`: ready endpoints of the own zone, if there are enough of them.

From the ingress-nginx proposal "availability zone aware routing": a zonal and a general balancer per backend.
"""

from __future__ import annotations

from balancer.model.endpoints import Endpoint
from balancer.model.zones import ZonePolicy
from balancer.zones.reasons import Reason
from balancer.zones.verdicts import Surroundings, Verdict


def judge(ready: tuple[Endpoint, ...], around: Surroundings, policy: ZonePolicy) -> Verdict:
    """The endpoints of the own zone, or the first reason not to use them alone."""
    own_zone = around.own.zone
    if own_zone is None:
        return Verdict(None, Reason.OWN_ZONE_UNKNOWN)
    local = tuple(endpoint for endpoint in ready if endpoint.zone == own_zone)
    if not local:
        return Verdict(None, Reason.ZONE_EMPTY)
    if len(local) < policy.min_endpoints:
        return Verdict(None, Reason.BELOW_MIN_ENDPOINTS)
    if len(local) * 100 < policy.min_percent * len(ready):
        return Verdict(None, Reason.BELOW_MIN_PERCENT)
    return Verdict(local, Reason.ZONE_LOCAL)
