"""Decides what failures of endpoints mean that several replicas see. No I/O, no clock.

An endpoint fails for a zone if its replicas have seen two failures in a row, and no good answer since. Two zones that
agree, or two replicas of the own zone with five failures in a row, are enough to leave an endpoint at once. What a
single replica tells is enough for less: here, two failures in a row eject the endpoint then instead of five. A link may
fail for one zone only, so what another zone alone sees ejects nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from balancer.picking.failing import WATCHED_SECONDS, EndpointPlace, FailingRow
from balancer.workers.messages import SuspectRow
from ingress.replicas.messages import FAILURES_MOST, FailureRow

# A zone that has seen so many failures in a row, and no answer, says that an endpoint fails.
_ZONE_FAILURES: Final = 2
# The same for the own zone without another one, and no replica counts for more than a part of it.
_OWN_ZONE_FAILURES: Final = 5
_REPLICA_MOST: Final = 3
# A suspicion ends by itself, so it is told again before that.
_TOLD_AGAIN_SECONDS: Final = WATCHED_SECONDS / 2

Rows = Mapping[EndpointPlace, FailureRow]


class ReplicaView(NamedTuple):
    """What one replica sees, and in which zone it runs; an empty zone is unknown."""

    zone: str
    rows: Rows


class FailureSharing:
    """Endpoints that fail here or elsewhere. `rows` is what is told to others; `agreed` are those about which replicas
    agree.
    """

    __slots__ = ("_told_at", "agreed", "rows")

    def __init__(self) -> None:
        self.rows: dict[EndpointPlace, FailureRow] = {}
        self.agreed: frozenset[EndpointPlace] = frozenset()
        self._told_at: dict[EndpointPlace, float] = {}

    def turn(
        self,
        workers: Iterable[Mapping[EndpointPlace, FailingRow]],
        others: Sequence[ReplicaView],
        zone: str,
        now: float,
    ) -> tuple[SuspectRow, ...]:
        """Takes what the own workers and other replicas see, and returns what own workers must be told now."""
        self.rows = _merged(workers)
        suspected = {place for view in others for place, row in view.rows.items() if row.failures}
        agreed = {place for place in suspected if _agree(place, [ReplicaView(zone, self.rows), *others], zone)}
        fresh = agreed - self.agreed
        self.agreed = frozenset(agreed)
        due = [
            place
            for place in sorted(suspected)
            if place in fresh or now - self._told_at.get(place, float("-inf")) >= _TOLD_AGAIN_SECONDS
        ]
        self._told_at = {place: at for place, at in self._told_at.items() if place in suspected} | dict.fromkeys(
            due, now
        )
        return tuple(SuspectRow(*place, place in fresh) for place in due)


def _merged(workers: Iterable[Mapping[EndpointPlace, FailingRow]]) -> dict[EndpointPlace, FailureRow]:
    """The rows of one replica: the failures in a row of all workers, and whether one of them got answers."""
    found: dict[EndpointPlace, FailureRow] = {}
    for rows in workers:
        for place, row in rows.items():
            before = found.get(place)
            if before is None and len(found) >= FAILURES_MOST:
                continue
            failures = row.failures + (0 if before is None else before.failures)
            answers = (row.answers and not row.failures) or (before is not None and before.answers)
            found[place] = FailureRow(*place, failures, answers)
    return found


def _agree(place: EndpointPlace, views: Iterable[ReplicaView], own_zone: str) -> bool:
    """Whether two zones say that an endpoint fails, or two replicas of the own zone."""
    by_zone: dict[str, list[FailureRow]] = {}
    for view in views:
        row = view.rows.get(place)
        if row is not None:
            by_zone.setdefault(view.zone, []).append(row)
    failures = {zone: _failures(rows) for zone, rows in by_zone.items()}
    if sum(bool(zone) and count >= _ZONE_FAILURES for zone, count in failures.items()) >= 2:
        return True
    return failures.get(own_zone, 0) >= _OWN_ZONE_FAILURES


def _failures(rows: Iterable[FailureRow]) -> int:
    """The failures in a row that replicas of one zone have seen; 0 if one of them gets answers."""
    known = list(rows)
    if any(row.answers for row in known):
        return 0
    return sum(min(row.failures, _REPLICA_MOST) for row in known)
