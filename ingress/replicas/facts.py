"""What is shown about the conversation with other replicas, and its series for a scrape. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from balancer.metrics.fleet_metrics import FLEET_METRICS
from balancer.metrics.snapshots import Series
from ingress.replicas.messages import FlowRow


class ReplicaSeen(NamedTuple):
    """Another replica as it is shown: its `state` is a `ReplicaState`, its `flows` are running totals."""

    name: str
    zone: str
    state: str
    age_seconds: float
    is_away: bool
    flows: tuple[FlowRow, ...]


class FleetFacts(msgspec.Struct, frozen=True):
    """Other replicas, how many there are by state, and messages and bytes by what became of them.

    `sick_zones` are zones that are sick for the fleet: how many of their backends are left there, of how many.
    `has_sick_links`: this replica fails where others get answers; `is_away`: so it says that it is not ready.
    """

    peers: Mapping[str, int] = {}
    messages: Mapping[str, int] = {}
    refused: Mapping[str, int] = {}
    bytes: Mapping[str, int] = {}
    replicas: tuple[ReplicaSeen, ...] = ()
    sick_zones: Mapping[str, tuple[int, int]] = {}
    has_sick_links: bool = False
    is_away: bool = False


def fleet_series(facts: FleetFacts) -> dict[str, Series]:
    """The series of `facts` for a scrape, by name of the metric."""
    parts = {zone: sick / backends for zone, (sick, backends) in facts.sick_zones.items()}
    links = {"": int(facts.has_sick_links)} if facts.peers else {}
    columns = (facts.peers, facts.messages, facts.refused, facts.bytes, parts, links)
    return {
        definition.name: [((label,) if definition.labels else (), float(value)) for label, value in column.items()]
        for definition, column in zip(FLEET_METRICS, columns, strict=True)
    }
