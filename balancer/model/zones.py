"""Zones in the model: the policy of a backend, where this replica runs, and facts about zones."""

from __future__ import annotations

from enum import Enum
from typing import NewType

import msgspec

Zone = NewType("Zone", str)
"""The name of an availability zone, never empty; an unknown zone is `None`."""

UNKNOWN_ZONE = "unknown"
"""The name of an unknown zone in metrics and logs."""


class ZonePolicyName(Enum):
    """The supported zone policies."""

    # That of Enum is a call of Python for each look-up by policy.
    __hash__ = object.__hash__

    OFF = "off"
    PREFER_ZONE = "prefer-zone"
    HINTS = "hints"
    ALLOCATE = "allocate"
    PROPORTIONAL = "proportional"
    ADAPTIVE = "adaptive"
    ORDERED = "ordered"


class ZoneEvacuation(Enum):
    """Whether requests leave a zone whose answers fail more often than those of other zones.

    `DRY_RUN`: it is judged and told, and no request leaves.
    """

    __hash__ = object.__hash__

    OFF = "false"
    DRY_RUN = "dry-run"
    ON = "true"


class ZonePolicy(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """How the zone of an endpoint counts: the policy and its thresholds.

    `keys` are node labels for `ordered`, best first; `*` at the end means any endpoint. `min_cluster_size` is for
    `proportional`; `toll_ratio`, `toll_seconds` and `spill_budget_percent` are for `adaptive`. With `dry_run` the
    policy decides and is counted, and requests go as under `off`. `rollout_percent` of the requests get the policy.
    `heeds_hints`: while every ready endpoint has hints, `hints` judges instead (`auto`, where nobody asked for hints).
    `asked_evacuation` None: as the policy does by itself.
    """

    name: ZonePolicyName = ZonePolicyName.OFF
    min_endpoints: int = 1
    min_percent: int = 0
    keys: tuple[str, ...] = ()
    min_cluster_size: int = 6
    toll_ratio: float = 0.05
    toll_seconds: float = 0.0005
    spill_budget_percent: int = 100
    dry_run: bool = False
    rollout_percent: int = 100
    heeds_hints: bool = False
    asked_evacuation: ZoneEvacuation | None = None

    @property
    def evacuation(self) -> ZoneEvacuation:
        """Whether sick zones are left: by themselves those that load or the own zone chooses. The others obey their
        author unless asked. Where zones do not count, none is left.
        """
        if self.name is ZonePolicyName.OFF:
            return ZoneEvacuation.OFF
        if self.asked_evacuation is not None:
            return self.asked_evacuation
        by_itself = self.name in (ZonePolicyName.ADAPTIVE, ZonePolicyName.PREFER_ZONE)
        return ZoneEvacuation.ON if by_itself else ZoneEvacuation.OFF


ZONES_OFF = ZonePolicy()
"""The policy of every backend while the flag is off."""


class OwnZone(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Where this replica runs. `source` is flag, node, pod or none (then `zone` is None).

    `labels` are those labels of the own node that a policy names.
    """

    zone: Zone | None = None
    source: str = "none"
    node: str | None = None
    labels: tuple[tuple[str, str], ...] = ()


class ZonePrices(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Dollars for a gigabyte (10^9 bytes) between two different known zones. Inside a zone bytes are free.

    `pairs` are (from, to, price), sorted. All other pairs cost `default`.
    """

    default: float = 0.02
    pairs: tuple[tuple[Zone, Zone, float], ...] = ()


class ClientNetwork(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A network, such as `10.0.0.0/19`, whose addresses are in one zone: of pods, machines or load balancers."""

    network: str
    zone: Zone


ZoneTraffic = tuple[tuple[Zone, int], ...]
"""The share of requests that comes in at each zone, in basis points, sorted by zone."""


class FleetUse(Enum):
    """What a replica makes of what other replicas tell. `DRY_RUN`: it is told and shown, and decides nothing."""

    OFF = "off"
    DRY_RUN = "dry-run"
    ON = "on"


class ZoneFacts(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Facts about the zones of the cluster, beyond endpoints.

    `cpu_milli` is the allocatable CPU of the ready nodes by zone, sorted; None if a node lacks a zone or its CPU (then
    `allocate` cannot decide). `replicas` counts the ready pods of this ingress by zone, sorted; None if unknown.
    `drained` are zones that the operator drains now, over `drain_ramp_seconds`. `drained_replicas_leave`: replicas in
    them ask load balancers to leave, too. `leaving` are zones where at least half of the nodes are said to go away or
    to be lost, sorted: a hint, and no proof. `traffic` are the requests of Services (`namespace/name`, sorted) by zone,
    as all replicas tell; `fleet` says whether they decide. The other `fleet_` fields say that of one fact each, if
    `fleet` is on: failures that others have seen, the load that replicas of the own zone see, zones that are sick for
    others, and whether a replica whose own links fail says that it is not ready. `sick` are zones that are sick for the
    fleet, sorted. `client_networks` are the networks by which the zones of clients are known, sorted.
    """

    cpu_milli: tuple[tuple[Zone, int], ...] | None = None
    replicas: tuple[tuple[Zone, int], ...] | None = None
    drained: tuple[Zone, ...] = ()
    drain_ramp_seconds: float = 30.0
    prices: ZonePrices = ZonePrices()
    drained_replicas_leave: bool = False
    leaving: tuple[Zone, ...] = ()
    traffic: tuple[tuple[str, ZoneTraffic], ...] = ()
    fleet: FleetUse = FleetUse.ON
    fleet_failures: FleetUse = FleetUse.ON
    fleet_loads: FleetUse = FleetUse.ON
    fleet_zones: FleetUse = FleetUse.ON
    fleet_readiness: FleetUse = FleetUse.DRY_RUN
    sick: tuple[Zone, ...] = ()
    client_networks: tuple[ClientNetwork, ...] = ()

    @property
    def suspect(self) -> tuple[Zone, ...]:
        """Zones that are left with less evidence."""
        return (*self.leaving, *self.sick)

    def use_of(self, fact: FleetUse) -> FleetUse:
        """How far one fact counts: no further than `fleet` itself."""
        return min(self.fleet, fact, key=_FURTHER.index)


_FURTHER = (FleetUse.OFF, FleetUse.DRY_RUN, FleetUse.ON)
