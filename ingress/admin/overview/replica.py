"""Makes the facts about this replica from what its parts know.

Does not know who asks.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from balancer.metrics.process_metrics import (
    PROCESS_CPU,
    PROCESS_MEMORY,
    PROCESS_START,
    WORKER_CPU,
    WORKER_MEMORY,
    WORKER_START,
)
from balancer.metrics.snapshots import Series
from balancer.model.zones import OwnZone
from balancer.workers.reports import FleetReport
from ingress.admin.overview.document import PeerRow, ReplicaFacts, WorkerRow


class ClusterStanding(msgspec.Struct, frozen=True):
    """How this replica stands with the API server; the defaults are those of a manifest folder."""

    leading: bool | None = None
    problem: str = ""
    watch_ages_seconds: Mapping[str, float] = {}


class Publishing(msgspec.Struct, frozen=True):
    """The publication in use; generation 0 before the first one. `build` is that of the data plane, for people."""

    version: str
    build: str = ""
    generation: int = 0
    at_epoch_seconds: float = 0.0
    translation_seconds: float = 0.0


def replica_facts(
    *,
    pod: str,
    source: str,
    own_zone: OwnZone,
    publishing: Publishing,
    problem: str,
    cluster: ClusterStanding,
    report: FleetReport,
    processes: Mapping[str, Series],
    restarts: int,
    peers: tuple[PeerRow, ...],
) -> ReplicaFacts:
    """The facts. `source` is the cluster or a folder, `problem` why this replica is not ready; `processes` are the
    series of `balancer.metrics.processes`.
    """
    own = {name: next((value for _, value in series), 0.0) for name, series in processes.items()}
    return ReplicaFacts(
        version=publishing.version,
        build=publishing.build,
        pod=pod,
        own_zone=own_zone.zone or "",
        zone_source=own_zone.source,
        node=own_zone.node or "",
        source=source,
        started_at_epoch_seconds=own.get(PROCESS_START.name, 0.0),
        generation=publishing.generation,
        published_at_epoch_seconds=publishing.at_epoch_seconds,
        translation_seconds=publishing.translation_seconds,
        problem=problem,
        leading=cluster.leading,
        api_problem=cluster.problem,
        watch_ages_seconds=dict(cluster.watch_ages_seconds),
        connections={state: int(count) for (state,), count in report.connections.items()},
        loop_lag_seconds=report.event_loop_lag_seconds,
        worker_restarts=restarts,
        cpu_seconds=own.get(PROCESS_CPU.name, 0.0),
        memory_bytes=int(own.get(PROCESS_MEMORY.name, 0.0)),
        workers=_workers(processes),
        peers=peers,
    )


def _workers(processes: Mapping[str, Series]) -> tuple[WorkerRow, ...]:
    cpu, memory, start = (dict(processes.get(each.name, ())) for each in (WORKER_CPU, WORKER_MEMORY, WORKER_START))
    return tuple(
        WorkerRow(
            number=int(label[0]),
            cpu_seconds=cpu[label],
            memory_bytes=int(memory.get(label, 0.0)),
            started_at_epoch_seconds=start.get(label, 0.0),
        )
        for label in sorted(cpu, key=lambda label: int(label[0]))
    )
