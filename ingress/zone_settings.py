"""What ConfigMap, Service and Ingress may say about zones.

Responsible for the keys, which are the same everywhere but for their prefix, and for the policy that comes of what was
said. It must not know which source said it, nor how a policy chooses an endpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from balancer.model import Zone, ZonePolicy, ZonePolicyName, ZonePrices
from ingress.values import Row, boolean, duration, integer, percent
from ingress.zone_values import PolicyChoice, Toll, policy_choice, prices, toll, zones

SECTION = "zones"
"""The section of a draft that `ZONE_ROWS` fill."""

FACTS_SECTION = "zone facts"
"""The section of a draft that `ZONE_FACT_ROWS` fill."""

_DEFAULTS = ZonePolicy()


class ZoneSettings(msgspec.Struct, frozen=True):
    """How the zone of an endpoint shall count. The other fields are those of `ZonePolicy` by the same names."""

    choice: PolicyChoice = PolicyChoice()
    min_endpoints: int = _DEFAULTS.min_endpoints
    min_percent: int = _DEFAULTS.min_percent
    min_cluster_size: int = _DEFAULTS.min_cluster_size
    toll: Toll = Toll()
    spill_budget_percent: int = _DEFAULTS.spill_budget_percent
    dry_run: bool = False
    rollout_percent: int = _DEFAULTS.rollout_percent

    def overridden(self, said: Mapping[str, Any]) -> ZoneSettings:
        """These settings with what the section `zones` of a draft says, field by field."""
        return msgspec.structs.replace(self, **said) if said else self

    def policy(self, *, follows_hints: bool) -> ZonePolicy:
        """The policy that carries this out; `auto` is `hints` where the Service asks for hints, else `prefer-zone`."""
        by_itself = ZonePolicyName.HINTS if follows_hints else ZonePolicyName.PREFER_ZONE
        return ZonePolicy(
            name=self.choice.name or by_itself,
            min_endpoints=self.min_endpoints,
            min_percent=self.min_percent,
            keys=self.choice.keys,
            min_cluster_size=self.min_cluster_size,
            toll_ratio=self.toll.ratio,
            toll_seconds=self.toll.seconds,
            spill_budget_percent=self.spill_budget_percent,
            dry_run=self.dry_run,
            rollout_percent=self.rollout_percent,
        )


class ZoneFactSettings(msgspec.Struct, frozen=True):
    """What only the operator says about zones: the fields of `ZoneFacts` by the same names."""

    drained: tuple[Zone, ...] = ()
    drain_ramp_seconds: float = 30.0
    prices: ZonePrices = ZonePrices()


ZONE_ROWS: Mapping[str, Row] = {
    "zone-policy": Row(SECTION, "choice", policy_choice),
    "zone-min-endpoints": Row(SECTION, "min_endpoints", integer(0)),
    "zone-min-percent": Row(SECTION, "min_percent", percent),
    "zone-min-cluster-size": Row(SECTION, "min_cluster_size", integer(0)),
    "zone-rollout": Row(SECTION, "rollout_percent", percent),
    "zone-dry-run": Row(SECTION, "dry_run", boolean),
    "zone-toll": Row(SECTION, "toll", toll),
    "zone-spill-budget": Row(SECTION, "spill_budget_percent", percent),
}
"""Our own keys that ConfigMap, Service and Ingress may state, without a prefix."""

ZONE_FACT_ROWS: Mapping[str, Row] = {
    "zone-drain": Row(FACTS_SECTION, "drained", zones),
    "zone-drain-ramp": Row(FACTS_SECTION, "drain_ramp_seconds", duration),
    "zone-transfer-prices": Row(FACTS_SECTION, "prices", prices),
}
"""Our own keys that only the ConfigMap may state."""
