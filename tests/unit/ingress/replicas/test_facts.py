"""The series about other replicas: one for each state and kind, none without a conversation."""

from __future__ import annotations

import msgspec

from balancer.metrics.fleet_metrics import FLEET_METRICS
from ingress.replicas.facts import FleetFacts, fleet_series


def test_each_fact_is_a_series_of_its_metric() -> None:
    facts = FleetFacts(peers={"up": 2}, messages={"sent": 3}, refused={"falling": 1}, bytes={"heard": 99})
    facts = msgspec.structs.replace(facts, sick_zones={"zone-b": (3, 6)}, has_sick_links=True)
    assert fleet_series(facts) == {
        "zonal_fleet_peers": [(("up",), 2.0)],
        "zonal_fleet_messages_total": [(("sent",), 3.0)],
        "zonal_fleet_refused_total": [(("falling",), 1.0)],
        "zonal_fleet_bytes_total": [(("heard",), 99.0)],
        "zonal_fleet_zone_sick_ratio": [(("zone-b",), 0.5)],
        "zonal_fleet_sick_links": [((), 1.0)],
    }


def test_without_an_exchange_there_are_no_series() -> None:
    assert fleet_series(FleetFacts()) == {definition.name: [] for definition in FLEET_METRICS}
