"""All replicas once, who does not hear whom, and the flows of the one that hears the most others."""

from __future__ import annotations

from ingress.admin.overview.document import FleetPart, FleetReplica, FleetSickZone, Flow
from ingress.cli.terminal.fleet import FleetView, fleet_flows_table, fleet_notes, fleet_view, replicas_table
from ingress.cli.terminal.tables import lines
from ingress.cli.terminal.views import AdminReply
from tests.unit.ingress.cli.terminal.documents import overview


def replica(name: str, zone: str, **told: object) -> FleetReplica:
    return FleetReplica(name, zone, **told)  # type: ignore[arg-type]


def answer(part: FleetPart) -> AdminReply:
    return AdminReply("http://one", overview(1.0, fleet=part))


ONE = FleetPart(
    replicas=(
        replica("zonal-0", "zone-a", own=True, requests=9),
        replica("zonal-1", "zone-b", age_seconds=0.4, requests=3),
    ),
    flows=(Flow("zone-a", "zone-b", 12, 1, 2000, 500),),
    sick_zones=(FleetSickZone("zone-b", 3, 4),),
)
TWO = FleetPart(
    replicas=(
        replica("zonal-1", "zone-b", own=True, away=True, requests=4),
        replica("zonal-0", "zone-a", state="silent", age_seconds=20.0),
    ),
    unheard=1,
)


def test_a_replica_speaks_best_for_itself() -> None:
    found = fleet_view([answer(TWO), answer(ONE), AdminReply("http://gone", problem="refused")])
    assert list(lines(replicas_table(found))) == [
        "REPLICA  ZONE    STATE          HEARD  REQUESTS",
        "zonal-0  zone-a  up                 -         9",
        "zonal-1  zone-b  up, not ready      -         4",
    ]
    assert list(lines(fleet_flows_table(found))) == [
        "FROM    TO      REQUESTS  ERRORS  BYTES",
        "zone-a  zone-b        12       1   2.5k",
    ]
    assert not found.is_well
    assert fleet_notes(found) == [
        "",
        "zonal-1 does not hear 1 that it has not heard for a minute",
        "zonal-1 does not hear zonal-0",
        "zone-b is sick: 3 of 4 backends are left there",
    ]


def test_replicas_of_one_machine_in_several_zones_are_several() -> None:
    part = FleetPart(replicas=(replica("host", "zone-a", own=True), replica("host", "zone-b")))
    assert [each.zone for each in fleet_view([answer(part)]).replicas] == ["zone-a", "zone-b"]


def test_one_replica_knows_all_of_them() -> None:
    found = fleet_view([answer(ONE)])
    assert found.is_well
    assert "0.4 s" in "".join(lines(replicas_table(found)))


def test_nobody_who_answers_is_not_well() -> None:
    assert fleet_view([AdminReply("http://gone", problem="refused")]) == FleetView()
    assert not FleetView().is_well
    assert fleet_notes(FleetView()) == []
