"""Defines ZonePolicy, a kind of our own: how zones count for what the policy is attached to (GEP-713, Inherited).

A field that is absent says nothing. Values are checked by the grammars of the options of the same names.
"""

from __future__ import annotations

from typing import ClassVar, Final

from ingress.objects.gateway_references import ObjectReference
from ingress.objects.metadata import Int32, Kind, Reported, Wire

ZONE_POLICY_GROUP: Final = "zonal-ingress.io"
ZONE_POLICY_VERSION: Final = "v1alpha1"


class ZoneWishes(Wire, frozen=True):
    """What a policy sets. The fields are those of the annotations `zonal-ingress.io/zone-…`."""

    policy: str | None = None
    min_endpoints: Int32 | None = None
    min_percent: Int32 | None = None
    min_cluster_size: Int32 | None = None
    rollout: Int32 | None = None
    dry_run: bool | None = None
    toll: str | None = None
    spill_budget: Int32 | None = None
    evacuation: str | None = None


class ZonePolicySpec(Wire, frozen=True):
    """What a policy is attached to, in its own namespace. What is below may set `defaults` otherwise, but no
    `overrides`.
    """

    target_refs: tuple[ObjectReference, ...] = ()
    defaults: ZoneWishes = ZoneWishes()
    overrides: ZoneWishes = ZoneWishes()


class ZonePolicyObject(Reported, frozen=True, kw_only=True):
    """zonal-ingress.io/v1alpha1 ZonePolicy."""

    kind: ClassVar[Kind] = Kind.ZONE_POLICY
    spec: ZonePolicySpec = ZonePolicySpec()
