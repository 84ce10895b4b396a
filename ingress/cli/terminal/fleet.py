"""What `zonal fleet` shows: every replica once, who does not hear whom, and the flows of all of them.

Each replica that was asked knows the whole fleet. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ingress.admin.overview.document import FleetPart, FleetReplica, FleetSickZone, Flow, Overview
from ingress.cli.terminal.ranking import size
from ingress.cli.terminal.tables import Column, Grid, Row, table
from ingress.cli.terminal.views import AdminReply


class FleetView(msgspec.Struct, frozen=True, kw_only=True):
    """The fleet as the replicas that answered know it. `unheard` are pairs: who does not hear whom."""

    replicas: tuple[FleetReplica, ...] = ()
    flows: tuple[Flow, ...] = ()
    sick_zones: tuple[FleetSickZone, ...] = ()
    unheard: tuple[tuple[str, str], ...] = ()

    @property
    def is_well(self) -> bool:
        """Whether each replica hears every other one."""
        return bool(self.replicas) and not self.unheard


def fleet_view(answers: Sequence[AdminReply]) -> FleetView:
    """What the replicas that answered know together. A replica speaks best for itself; flows are those of the one that
    hears the most others.
    """
    parts = [part for each in answers if each.overview is not None and (part := _part(each.overview)) is not None]
    if not parts:
        return FleetView()
    known: dict[tuple[str, str], FleetReplica] = {}  # on one machine several may have its name
    for replica in (replica for part in parts for replica in part.replicas):
        called = replica.name, replica.zone
        if called not in known or replica.own:
            known[called] = replica
    best = max(parts, key=lambda part: sum(each.state == "up" for each in part.replicas))
    return FleetView(
        replicas=tuple(sorted(known.values(), key=lambda each: (each.zone, each.name))),
        flows=best.flows,
        sick_zones=best.sick_zones,
        unheard=tuple(sorted(pair for part in parts for pair in _unheard(part))),
    )


def _part(overview: Overview) -> FleetPart | None:
    return overview.fleet if isinstance(overview.fleet, FleetPart) else None


def _unheard(part: FleetPart) -> Iterator[tuple[str, str]]:
    own = next((each.name for each in part.replicas if each.own), "")
    yield from ((own, each.name) for each in part.replicas if each.state != "up")
    if part.unheard:
        yield own, f"{part.unheard} that it has not heard for a minute"


def replicas_table(found: FleetView) -> Grid:
    """One line for each replica."""
    columns = [Column("replica"), Column("zone"), Column("state"), Column("heard", is_number=True)]
    columns.append(Column("requests", is_number=True))
    return table(columns, [Row(_cells(each)) for each in found.replicas])


def _cells(replica: FleetReplica) -> tuple[str, ...]:
    heard = "-" if replica.own else f"{replica.age_seconds:.1f} s"
    state = f"{replica.state}, not ready" if replica.away else replica.state
    return replica.name, replica.zone or "-", state, heard, str(replica.requests)


def fleet_flows_table(found: FleetView) -> Grid:
    """One line for each pair of zones, since the replicas started."""
    columns = [
        Column("from"),
        Column("to"),
        *(Column(name, is_number=True) for name in ("requests", "errors", "bytes")),
    ]
    return table(columns, [Row(_flow_cells(flow)) for flow in found.flows])


def _flow_cells(flow: Flow) -> tuple[str, ...]:
    counted = size(flow.sent_bytes + flow.received_bytes)
    return flow.from_zone, flow.to_zone, str(flow.requests), str(flow.errors), counted


def fleet_notes(found: FleetView) -> list[str]:
    """What is not well, a line each."""
    notes = [f"{who} does not hear {whom}" for who, whom in found.unheard]
    notes += [
        f"{each.zone} is sick: {each.sick} of {each.backends} backends are left there" for each in found.sick_zones
    ]
    return ["", *notes] if notes else []
