"""The part of the overview about all replicas: sums of those that are up, and who is not heard."""

from __future__ import annotations

from balancer.model.zones import Zone, ZonePrices
from ingress.admin.overview.document import FleetReplica, FleetSickZone, Flow
from ingress.admin.overview.fleet import fleet_part, flows_told
from ingress.replicas.facts import FleetFacts, ReplicaSeen
from ingress.replicas.messages import FLOWS_MOST, FlowRow

PRICES = ZonePrices(0.02, ((Zone("zone-a"), Zone("zone-b"), 0.01),))
OWN = (Flow("zone-a", "zone-a", requests=90), Flow("zone-a", "zone-b", requests=10, errors=1, sent_bytes=5))


def seen(name: str, *flows: FlowRow, state: str = "up", is_away: bool = False) -> ReplicaSeen:
    return ReplicaSeen(name, "zone-b", state, 0.25, is_away, flows)


def test_flows_of_replicas_that_are_up_are_added() -> None:
    rows = FlowRow("zone-a", "zone-b", 5, 0, 1, 2), FlowRow("zone-b", "zone-b", 7, 0, 0, 0)
    facts = FleetFacts(
        peers={"up": 1, "silent": 2},
        replicas=(seen("zonal-1", *rows), seen("zonal-2", *rows, state="silent", is_away=True)),
        sick_zones={"zone-b": (3, 4)},
        has_sick_links=True,
    )
    part = fleet_part(facts, "zonal-0", "zone-a", OWN, PRICES)
    assert part.flows == (
        Flow("zone-a", "zone-a", requests=90),
        Flow("zone-a", "zone-b", 15, 1, 6, 2, sent_price=0.01, received_price=0.02),
        Flow("zone-b", "zone-b", requests=7),
    )
    assert part.replicas == (
        FleetReplica("zonal-0", "zone-a", own=True, requests=100),
        FleetReplica("zonal-1", "zone-b", age_seconds=0.2, requests=12),
        FleetReplica("zonal-2", "zone-b", state="silent", away=True, age_seconds=0.2, requests=12),
    )
    assert part.sick_zones == (FleetSickZone("zone-b", 3, 4),)
    assert (part.unheard, part.sick_links) == (1, True)


def test_without_others_there_is_this_replica() -> None:
    part = fleet_part(FleetFacts(), "zonal-0", "", (), PRICES)
    assert part.replicas == (FleetReplica("zonal-0", own=True),)
    assert (part.flows, part.unheard) == ((), 0)


def test_what_is_told_is_bounded() -> None:
    flows = [Flow(f"zone-{number}", "zone-a") for number in range(FLOWS_MOST + 1)]
    assert len(flows_told(flows)) == FLOWS_MOST
