"""Findings beside statuses: every condition that says that something is not served is one, with the same words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ingress.findings import Findings, Severity, Subject
from ingress.translation.gateway.memory import GatewayMemory
from ingress.translation.gateway.standings import (
    GatewayClassStatus,
    GatewayStatus,
    ListenerSetStatus,
    ListenerStanding,
    ObjectStanding,
    ParentStanding,
    RouteStatus,
    StatusCondition,
)

_EFFECTS: Final = {
    "Accepted": "What is refused is not served.",
    "ResolvedRefs": "What needs the reference is refused: requests get 500, handshakes fail.",
    "PartiallyInvalid": "Requests that match the rules that are left out get 500.",
}


def note_standings(standings: Iterable[ObjectStanding], findings: Findings, memory: GatewayMemory) -> None:
    """Notes a finding for every condition that says that something is not served.

    Nearly all objects have none, and `memory` knows those of which the last translation found none.
    """
    before, quiet = memory.quiet, dict[int, ObjectStanding]()
    for each in standings:
        if before.get(id(each)) is each:
            quiet[id(each)] = each
            continue
        unserved = _unserved(each)
        if not unserved:
            quiet[id(each)] = each
        for part, found in unserved:
            findings.add(
                Subject(each.kind, each.namespace, each.name),
                reason=found.reason,
                message=f"{_place(part)}{found.message}",
                effect=_EFFECTS[found.type],
                severity=Severity.CLOSED,
            )
    memory.quiet = quiet


_Part = ListenerStanding | ParentStanding | None


def _unserved(item: ObjectStanding) -> tuple[tuple[_Part, StatusCondition], ...]:
    """The conditions that say that something is not served, but for sums of those of listeners."""
    return tuple(
        (part, found)
        for part, found in _conditions(item)
        if (found.status == "True") == (found.type == "PartiallyInvalid")
        and found.type in _EFFECTS
        and found.reason != "ListenersNotResolved"
    )


def _conditions(item: ObjectStanding) -> Iterator[tuple[_Part, StatusCondition]]:
    """The conditions of an object, each with the part of it that it is about; None: the whole."""
    status = item.status
    if isinstance(status, RouteStatus):
        for parent in status.parents:
            for each in parent.conditions:
                yield parent, each
    elif isinstance(status, (GatewayClassStatus, GatewayStatus, ListenerSetStatus)):
        yield from ((None, each) for each in status.conditions)
        for listener in getattr(status, "listeners", ()):
            yield from ((listener, each) for each in listener.conditions)
    else:
        for ancestor in status.ancestors:
            yield from ((None, each) for each in ancestor.conditions)


def _place(part: _Part) -> str:
    if isinstance(part, ListenerStanding):
        return f"Listener {part.name}: "
    if isinstance(part, ParentStanding):
        return f"{part.parent_ref.kind} {part.parent_ref.namespace}/{part.parent_ref.name}: "
    return ""
