"""What is shown about the conversation with other replicas, and its series for a scrape. No I/O."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from balancer.metrics.fleet_metrics import FLEET_METRICS
from balancer.metrics.snapshots import Series


class FleetFacts(msgspec.Struct, frozen=True):
    """Other replicas by state, messages and bytes by what became of them, and the age of the last message by name."""

    peers: Mapping[str, int] = {}
    messages: Mapping[str, int] = {}
    refused: Mapping[str, int] = {}
    bytes: Mapping[str, int] = {}
    ages_seconds: Mapping[str, float] = {}


def fleet_series(facts: FleetFacts) -> dict[str, Series]:
    """The series of `facts` for a scrape, by name of the metric."""
    columns = (facts.peers, facts.messages, facts.refused, facts.bytes)
    return {
        definition.name: [((label,), float(value)) for label, value in column.items()]
        for definition, column in zip(FLEET_METRICS, columns, strict=True)
    }
