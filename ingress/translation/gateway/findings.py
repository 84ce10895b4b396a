"""Findings beside statuses: every condition that says that something is not served is one, with the same words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ingress.findings import Findings, Severity, Subject
from ingress.translation.gateway.standings import (
    GatewayClassStatus,
    GatewayStatus,
    ListenerSetStatus,
    ObjectStanding,
    RouteStatus,
    StatusCondition,
)

_EFFECTS: Final = {
    "Accepted": "What is refused is not served.",
    "ResolvedRefs": "What needs the reference is refused: requests get 500, handshakes fail.",
    "PartiallyInvalid": "The requests of the rules that are left out get 500.",
}


def note_standings(standings: Iterable[ObjectStanding], findings: Findings) -> None:
    """Notes a finding for every condition that says that something is not served."""
    for each in standings:
        subject = Subject(each.kind, each.namespace, each.name)
        for place, found in _conditions(each):
            if found.type in _EFFECTS and (found.status == "True") == (found.type == "PartiallyInvalid"):
                findings.add(
                    subject,
                    reason=found.reason,
                    message=f"{place}{found.message}",
                    effect=_EFFECTS[found.type],
                    severity=Severity.CLOSED,
                )


def _conditions(item: ObjectStanding) -> Iterator[tuple[str, StatusCondition]]:
    """The conditions of an object, each with the part of it that it is about."""
    status = item.status
    if isinstance(status, (GatewayClassStatus, GatewayStatus, ListenerSetStatus)):
        yield from (("", each) for each in status.conditions)
        for listener in getattr(status, "listeners", ()):
            yield from ((f"Listener {listener.name}: ", each) for each in listener.conditions)
    elif isinstance(status, RouteStatus):
        for parent in status.parents:
            named = f"{parent.parent_ref.kind} {parent.parent_ref.namespace}/{parent.parent_ref.name}: "
            yield from ((named, each) for each in parent.conditions)
    else:
        for ancestor in status.ancestors:
            yield from (("", each) for each in ancestor.conditions)
