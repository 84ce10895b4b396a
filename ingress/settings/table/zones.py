"""Options about zones, and the policy that they make.

Responsible for the options and for the struct that they fill. It must not know how a policy chooses an endpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from balancer.model.zones import ClientNetwork, FleetUse, ZoneEvacuation, ZonePolicy, ZonePolicyName, ZonePrices
from ingress.settings.table.option import Option, Overrides, backend_option, cluster_option
from ingress.settings.values import Word, boolean, duration_or_none, integer, percent
from ingress.settings.zone_values import (
    PolicyChoice,
    Toll,
    ZoneDrain,
    client_networks,
    policy_choice,
    prices,
    toll,
    zone_drains,
)

_DEFAULTS = ZonePolicy()
_FLEET_USES: dict[str, FleetUse] = {use.value: use for use in FleetUse}
_EVACUATIONS: dict[str, ZoneEvacuation | None] = {
    "auto": None,
    "true": ZoneEvacuation.ON,
    "dry-run": ZoneEvacuation.DRY_RUN,
    "false": ZoneEvacuation.OFF,
}


class ZoneSettings(msgspec.Struct, frozen=True):
    """How the zone of an endpoint counts. The other fields are those of `ZonePolicy` by the same names."""

    choice: PolicyChoice = PolicyChoice()
    min_endpoints: int = _DEFAULTS.min_endpoints
    min_percent: int = _DEFAULTS.min_percent
    min_cluster_size: int = _DEFAULTS.min_cluster_size
    toll: Toll = Toll()
    spill_budget_percent: int = _DEFAULTS.spill_budget_percent
    dry_run: bool = False
    rollout_percent: int = _DEFAULTS.rollout_percent
    asked_evacuation: ZoneEvacuation | None = _DEFAULTS.asked_evacuation

    def overridden(self, overrides: Overrides) -> ZoneSettings:
        """These settings with what another source sets, field by field."""
        return overrides.over(self)

    def policy(self, *, follows_hints: bool) -> ZonePolicy:
        """The policy of these settings. `auto` is `hints` if the Service asks for hints.

        Otherwise it is `prefer-zone`, which heeds hints that somebody wrote unasked.
        """
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
            heeds_hints=self.choice.name is None and not follows_hints,
            asked_evacuation=self.asked_evacuation,
        )


class ZoneFactSettings(msgspec.Struct, frozen=True):
    """What only the operator says about zones: `drains`, and the fields of `ZoneFacts` by the same names."""

    drains: tuple[ZoneDrain, ...] = ()
    drain_ramp_seconds: float = 30.0
    prices: ZonePrices = ZonePrices()
    client_networks: tuple[ClientNetwork, ...] = ()
    drained_replicas_leave: bool = False
    fleet: FleetUse = FleetUse.ON
    fleet_failures: FleetUse = FleetUse.ON
    fleet_loads: FleetUse = FleetUse.ON
    fleet_zones: FleetUse = FleetUse.ON
    fleet_readiness: FleetUse = FleetUse.DRY_RUN


def _of_backend(name: str, field: str, *, grammar: Callable[[str], Any], default: str, doc: str) -> Option:
    """A row about one backend, which fills a field of `ZoneSettings`."""
    fills = (ZoneSettings, field)
    return backend_option(name=name, fills=fills, grammar=grammar, default=default, doc=doc)


def _of_fleet(name: str, field: str, *, doc: str, default: str = "on") -> Option:
    """A row about what replicas make of what they tell each other, which fills a field of `ZoneFactSettings`."""
    fills = (ZoneFactSettings, field)
    return cluster_option(name=name, fills=fills, grammar=Word(_FLEET_USES), default=default, doc=doc)


ZONE_OPTIONS = (
    _of_backend(
        "zone-policy",
        "choice",
        grammar=policy_choice,
        default="auto",
        doc="`off`, `prefer-zone`, `hints`, `allocate`, `proportional`, `adaptive`, or `ordered:` and a comma list of"
        " node labels, of which `*` (any endpoint) may be the last:"
        " `ordered: kubernetes.io/hostname, topology.kubernetes.io/zone, *`; at most 16, each once."
        " `auto` is `hints` for a Service that speaks of hints (`spec.trafficDistribution`, or"
        " `service.kubernetes.io/topology-mode` or `topology-aware-hints` with the value `Auto`, `Disabled` or the name"
        " of a heuristic such as `example.com/mine`). For all others it is `hints` while every ready endpoint has"
        " hints, otherwise `prefer-zone`",
    ),
    _of_backend(
        "zone-min-endpoints",
        "min_endpoints",
        grammar=integer(0),
        default="1",
        doc="with fewer ready endpoints in the own zone, every endpoint is used",
    ),
    _of_backend(
        "zone-min-percent",
        "min_percent",
        grammar=percent,
        default="0",
        doc="percent: if a smaller share of the ready endpoints is in the own zone, every endpoint is used",
    ),
    _of_backend(
        "zone-min-cluster-size",
        "min_cluster_size",
        grammar=integer(0),
        default="6",
        doc="`proportional`: with fewer ready endpoints, every endpoint is used",
    ),
    _of_backend(
        "zone-rollout",
        "rollout_percent",
        grammar=percent,
        default="100",
        doc="percent of the requests that get the policy; the others go as under `off`",
    ),
    _of_backend(
        "zone-dry-run",
        "dry_run",
        grammar=boolean,
        default="false",
        doc='`"true"`: the policy decides and is counted, and requests go as under `off`',
    ),
    _of_backend(
        "zone-toll",
        "toll",
        grammar=toll,
        default="5%+0.5ms",
        doc="`adaptive`: latency that a request may pay to stay in its zone, as a share, a time (`ms`, `s`), or both",
    ),
    _of_backend(
        "zone-spill-budget",
        "spill_budget_percent",
        grammar=percent,
        default="100",
        doc="`adaptive`: percent of the requests that may leave the zone",
    ),
    _of_backend(
        "zone-evacuation",
        "asked_evacuation",
        grammar=Word(_EVACUATIONS),
        default="auto",
        doc='`"true"`: requests leave a zone whose answers fail more often than those of other zones, and return'
        ' when it is well. `"dry-run"`: that is judged and told, and no request leaves. `"false"`: no zone is left'
        ' for that. `auto` is `"true"` under `adaptive` and `prefer-zone`, else `"false"`. Without effect under'
        " `off`",
    ),
    _of_fleet(
        "fleet",
        "fleet",
        doc='`"on"`: what other replicas tell counts ([fleet.md](fleet.md)). `"dry-run"`: it is told and shown, and'
        ' decides nothing. `"off"`: nothing is told. Without effect on a replica without peers (`--peer-port`)',
    ),
    _of_fleet(
        "fleet-failures",
        "fleet_failures",
        doc='`"on"`: an endpoint that fails for other replicas is ejected here with less evidence, and at once if two'
        ' zones agree ([fleet.md](fleet.md)). `"dry-run"`: it is told and shown, and ejects nothing. `"off"`: it is not'
        " told. Counts if `fleet` is as far",
    ),
    _of_fleet(
        "fleet-loads",
        "fleet_loads",
        doc='`"on"`: under `adaptive`, replicas of one zone decide by the load that all of them see'
        ' ([fleet.md](fleet.md)). `"dry-run"`: it is told and shown, and decides nothing. `"off"`: it is not told.'
        " Counts if `fleet` is as far",
    ),
    _of_fleet(
        "fleet-zones",
        "fleet_zones",
        doc='`"on"`: replicas of one zone judge by what all of them see whether a zone is sick, and a zone in which'
        ' 30 % of the backends are sick needs less evidence ([fleet.md](fleet.md)). `"dry-run"`: it is told and shown,'
        ' and decides nothing. `"off"`: it is not told. Counts if `fleet` is as far',
    ),
    _of_fleet(
        "fleet-readiness",
        "fleet_readiness",
        default="dry-run",
        doc='`"on"`: a replica for which all zones fail, while they answer other replicas, says on `/readyz` that it is'
        ' not ready, so that load balancers leave it ([fleet.md](fleet.md)). `"dry-run"`: it is told and shown, and'
        ' the replica stays ready. `"off"`: it is not judged. Counts if `fleet` is as far',
    ),
    cluster_option(
        name="zone-drain",
        fills=(ZoneFactSettings, "drains"),
        grammar=zone_drains,
        doc="comma list of zones whose endpoints are used only if nothing else is left. A drain ends by itself if a"
        " time (RFC 3339) says when: `zone-b until=2027-01-31T18:00:00Z`",
    ),
    cluster_option(
        name="zone-drain-replicas",
        fills=(ZoneFactSettings, "drained_replicas_leave"),
        grammar=boolean,
        default="false",
        doc='`"true"`: replicas of zonal in a drained zone say on `/readyz` that they are not ready, so that load'
        " balancers leave them, too; never while no ready replica is known in another zone (`--publish-service`)",
    ),
    cluster_option(
        name="zone-drain-ramp",
        fills=(ZoneFactSettings, "drain_ramp_seconds"),
        grammar=duration_or_none,
        default="30s",
        doc="how long it takes until a drained zone gets nothing; `0s`: at once",
    ),
    cluster_option(
        name="zone-transfer-prices",
        fills=(ZoneFactSettings, "prices"),
        grammar=prices,
        default="0.02",
        doc="dollars per GB (10⁹ bytes) between two different zones: one number, or pairs, each direction for itself,"
        " and `*` for all others (`0.02` if it is missing): `zone-a>zone-b=0.01,zone-b>zone-a=0.01,*=0.02`."
        " Prices hold while the flag is off, too",
    ),
    cluster_option(
        name="zone-client-networks",
        fills=(ZoneFactSettings, "client_networks"),
        grammar=client_networks,
        doc="networks of clients, by zone: `10.0.0.0/19=zone-a, 10.0.32.0/19=zone-b`, at most 256; the longest that"
        " holds an address counts. With them the cost meter counts the hop before zonal"
        " ([install.md](install.md#the-hop-before-zonal)); other clients are in zone `unknown`",
    ),
)
