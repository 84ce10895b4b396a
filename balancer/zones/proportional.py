"""The policy `proportional`: the own zone gets the share that it can carry, zones with spare capacity get the rest.

Envoy's zone-aware routing (load_balancer_impl.cc), in basis points with integer floor divisions throughout. Every
endpoint gets equally many requests if every replica of this ingress does. Where replicas tell each other how many
requests come in at which zone, those numbers stand for the replicas, and every endpoint gets equally many in any case.
"""

from __future__ import annotations

from collections.abc import Mapping

from balancer.model.endpoints import Endpoint
from balancer.model.zones import Zone, ZonePolicy
from balancer.zones.reasons import Reason
from balancer.zones.verdicts import ALL_BASIS_POINTS, Residual, Surroundings, Verdict

_Counts = Mapping[Zone | None, int]
_ByZone = Mapping[Zone | None, tuple[Endpoint, ...]]


def judge(ready: tuple[Endpoint, ...], around: Surroundings, policy: ZonePolicy) -> Verdict:
    """The own zone's endpoints with their share in basis points and the residuals of other zones, or the first
    objection.

    Endpoints of an unknown zone count as a zone of their own, as in Envoy: they get a share of the requests, too.
    """
    own_zone, by_zone = around.own.zone, _by_zone(ready)
    replicas: _Counts = {zone: count for zone, count in around.zones.replicas or () if count > 0}
    if own_zone is None:
        return Verdict(None, Reason.OWN_ZONE_UNKNOWN)
    if not replicas:
        return Verdict(None, Reason.OWN_REPLICAS_UNKNOWN)
    if len(by_zone) < 2 or len(replicas) < 2:
        return Verdict(None, Reason.TOO_FEW_ZONES)
    if own_zone not in replicas:
        return Verdict(None, Reason.OWN_REPLICAS_UNKNOWN)
    if len(ready) < policy.min_cluster_size:
        return Verdict(None, Reason.TOO_FEW_ENDPOINTS)
    return _divided(by_zone, replicas, own_zone)


def _by_zone(ready: tuple[Endpoint, ...]) -> _ByZone:
    """Endpoints by zone, sorted by name, with the unknown zone first."""
    zones = sorted({endpoint.zone for endpoint in ready}, key=lambda zone: zone or "")
    return {zone: tuple(endpoint for endpoint in ready if endpoint.zone == zone) for zone in zones}


def _divided(by_zone: _ByZone, replicas: _Counts, own_zone: Zone) -> Verdict:
    incoming = _shares(replicas)
    capacity = _shares({zone: len(endpoints) for zone, endpoints in by_zone.items()})
    local, ours = by_zone.get(own_zone, ()), capacity.get(own_zone, 0)
    if ours and ours >= incoming[own_zone]:
        return Verdict(local, Reason.PROPORTIONAL_LOCAL)
    residuals = _residuals(by_zone, {zone: capacity[zone] - incoming.get(zone, 0) for zone in by_zone})
    if not local:
        # A policy wants some endpoints or gives way to the general pool. Here it wants those of other zones, by weight.
        wanted = tuple(endpoint for residual in residuals for endpoint in residual.endpoints)
        return Verdict(wanted, Reason.PROPORTIONAL_RESIDUAL, 0, residuals)
    basis_points = ours * ALL_BASIS_POINTS // incoming[own_zone] if ours else 0
    return Verdict(local, Reason.PROPORTIONAL_LOCAL, basis_points, residuals)


def _shares(counts: _Counts) -> _Counts:
    """The share of each zone in basis points."""
    total = sum(counts.values())
    return {zone: ALL_BASIS_POINTS * count // total for zone, count in counts.items()}


def _residuals(by_zone: _ByZone, spare: _Counts) -> tuple[Residual, ...]:
    """The zones with spare capacity, by the amount. The own zone has none, or it would keep its requests.

    Floor divisions can leave no zone with spare capacity. Envoy then takes any zone at random, including the own zone.
    """
    able = tuple(Residual(endpoints, spare[zone]) for zone, endpoints in by_zone.items() if spare[zone] > 0)
    return able or tuple(Residual(endpoints, 1) for endpoints in by_zone.values())
