"""The policy `off`: zones do not count."""

from __future__ import annotations

from balancer.model import Endpoint, Zone, ZonePolicy
from balancer.zones.reasons import Reason
from balancer.zones.verdicts import Verdict


def judge(ready: tuple[Endpoint, ...], own_zone: Zone | None, policy: ZonePolicy) -> Verdict:
    """Always every endpoint."""
    return Verdict(None, Reason.OFF)
