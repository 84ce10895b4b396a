"""The facts about a replica."""

from __future__ import annotations

from balancer.model.zones import OwnZone, Zone
from balancer.workers.reports import FleetReport
from ingress.admin.overview.document import PeerRow, ReplicaFacts, WorkerRow
from ingress.admin.overview.replica import ClusterStanding, Publishing, replica_facts


def test_the_facts_come_from_all_parts() -> None:
    peers = (PeerRow("10.0.0.2"),)
    facts = replica_facts(
        pod="zonal-1",
        source="the cluster",
        own_zone=OwnZone(Zone("zone-a"), "node", "node-1"),
        publishing=Publishing("1.2", "plain", 7, 100.0, 0.5),
        problem="draining",
        cluster=ClusterStanding(True, "away", {"Ingress": 3.0}),
        report=FleetReport(connections={("client_idle",): 4.0}, event_loop_lag_seconds=0.25),
        processes={
            "process_cpu_seconds_total": [((), 2.0)],
            "process_resident_memory_bytes": [((), 1e6)],
            "process_start_time_seconds": [((), 50.0)],
            "zonal_worker_cpu_seconds_total": [(("10",), 9.0), (("2",), 8.0)],
            "zonal_worker_resident_memory_bytes": [(("2",), 5.0)],
        },
        restarts=1,
        peers=peers,
    )
    assert facts == ReplicaFacts(
        version="1.2",
        build="plain",
        pod="zonal-1",
        own_zone="zone-a",
        zone_source="node",
        node="node-1",
        source="the cluster",
        started_at_epoch_seconds=50.0,
        generation=7,
        published_at_epoch_seconds=100.0,
        translation_seconds=0.5,
        problem="draining",
        leading=True,
        api_problem="away",
        watch_ages_seconds={"Ingress": 3.0},
        connections={"client_idle": 4},
        loop_lag_seconds=0.25,
        worker_restarts=1,
        cpu_seconds=2.0,
        memory_bytes=1_000_000,
        workers=(WorkerRow(2, 8.0, 5), WorkerRow(10, 9.0)),
        peers=peers,
    )
