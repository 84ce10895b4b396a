"""Makes the part of the overview about all replicas: who there is, and the sums of their flows. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from operator import add

from balancer.model.zones import ZonePrices
from balancer.zones.cost import price
from ingress.admin.overview.document import FleetPart, FleetReplica, FleetSickZone, Flow
from ingress.admin.overview.traffic import known_zone
from ingress.replicas.facts import FleetFacts
from ingress.replicas.messages import FLOWS_MOST, FlowRow
from ingress.replicas.other_replica import ReplicaState

_Counts = tuple[int, int, int, int]
_UP = ReplicaState.UP.value


def fleet_part(facts: FleetFacts, name: str, zone: str, own: tuple[Flow, ...], prices: ZonePrices) -> FleetPart:
    """What this replica, which has a `name` and a `zone`, knows of all. Sums are of replicas that are up."""
    me = FleetReplica(name=name, zone=zone, own=True, away=facts.is_away, requests=sum(flow.requests for flow in own))
    others = tuple(
        FleetReplica(
            name=each.name,
            zone=each.zone,
            state=each.state,
            away=each.is_away,
            age_seconds=round(each.age_seconds, 1),
            requests=sum(row.requests for row in each.flows),
        )
        for each in facts.replicas
    )
    told = [row for each in facts.replicas if each.state == _UP for row in each.flows]
    return FleetPart(
        replicas=(me, *others),
        flows=_sums((*flows_told(own).values(), *told), prices),
        sick_zones=tuple(FleetSickZone(where, *counts) for where, counts in sorted(facts.sick_zones.items())),
        unheard=max(0, sum(facts.peers.values()) - len(others)),
        sick_links=facts.has_sick_links,
    )


def flows_told(own: Iterable[Flow]) -> dict[tuple[str, str], FlowRow]:
    """The flows as other replicas are told of them."""
    rows = (
        FlowRow(each.from_zone, each.to_zone, each.requests, each.errors, each.sent_bytes, each.received_bytes)
        for each in own
    )
    return {(row.from_zone, row.to_zone): row for _, row in zip(range(FLOWS_MOST), rows, strict=False)}


def _sums(rows: Iterable[FlowRow], prices: ZonePrices) -> tuple[Flow, ...]:
    sums: dict[tuple[str, str], _Counts] = {}
    for row in rows:
        counts = row.requests, row.errors, row.sent_bytes, row.received_bytes
        before = sums.get((row.from_zone, row.to_zone), (0, 0, 0, 0))
        sums[row.from_zone, row.to_zone] = _added(before, counts)
    return tuple(_flow(source, target, counts, prices) for (source, target), counts in sorted(sums.items()))


def _added(one: _Counts, other: _Counts) -> _Counts:
    requests, errors, sent, received = map(add, one, other)
    return requests, errors, sent, received


def _flow(source: str, target: str, counts: _Counts, prices: ZonePrices) -> Flow:
    here, there = known_zone(source), known_zone(target)
    return Flow(source, target, *counts, price(prices, here, there), price(prices, there, here))
