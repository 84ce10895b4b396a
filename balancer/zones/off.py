"""The policy `off`: zones do not count."""

from __future__ import annotations

from balancer.model.endpoints import Endpoint
from balancer.model.zones import ZonePolicy
from balancer.zones.reasons import Reason
from balancer.zones.verdicts import Surroundings, Verdict


def judge(ready: tuple[Endpoint, ...], around: Surroundings, policy: ZonePolicy) -> Verdict:
    """Always every endpoint."""
    return Verdict(None, Reason.OFF)
